import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;

/** java Order.java HttpClient|HttpURLConnection URL BODY [PROXY_PORT]: posts the body as JSON, prints status and answer. */
class Order {
    public static void main(String[] arguments) throws Exception {
        String url = arguments[1];
        String body = arguments[2];
        if (arguments[0].equals("HttpURLConnection")) postTheOldWay(url, body);
        else post(url, body, arguments.length > 3 ? Integer.parseInt(arguments[3]) : 0);
    }

    /** With its defaults, HttpClient sends Upgrade: h2c with the first plain request. */
    static void post(String url, String body, int proxyPort) throws Exception {
        HttpClient.Builder builder = HttpClient.newBuilder();
        if (proxyPort != 0) builder.proxy(ProxySelector.of(new InetSocketAddress("127.0.0.1", proxyPort)));
        HttpRequest request = HttpRequest.newBuilder(URI.create(url))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
        HttpResponse<String> response = builder.build().send(request, HttpResponse.BodyHandlers.ofString());
        System.out.println(response.statusCode() + " " + response.body());
    }

    static void postTheOldWay(String url, String body) throws Exception {
        HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
        connection.setRequestMethod("POST");
        connection.setRequestProperty("Content-Type", "application/json");
        connection.setDoOutput(true);
        connection.getOutputStream().write(body.getBytes(StandardCharsets.UTF_8));
        String answer = new String(connection.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        System.out.println(connection.getResponseCode() + " " + answer);
    }
}
