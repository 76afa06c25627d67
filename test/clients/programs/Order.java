import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/**
 * java Order.java URL BODY [PROXY_PORT]: posts the body as JSON, prints status and answer. With its defaults, HttpClient sends
 * Upgrade: h2c with the first plain request.
 */
class Order {
    public static void main(String[] arguments) throws Exception {
        HttpClient.Builder builder = HttpClient.newBuilder();
        if (arguments.length > 2) {
            int proxyPort = Integer.parseInt(arguments[2]);
            builder.proxy(ProxySelector.of(new InetSocketAddress("127.0.0.1", proxyPort)));
        }
        HttpRequest request = HttpRequest.newBuilder(URI.create(arguments[0]))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(arguments[1]))
            .build();
        HttpResponse<String> response = builder.build().send(request, HttpResponse.BodyHandlers.ofString());
        System.out.println(response.statusCode() + " " + response.body());
    }
}
