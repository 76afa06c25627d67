import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** The example with HttpClient's defaults: it requests an upgrade to HTTP/2 with every call. */
class DefaultClient {
    public static void main(String[] arguments) throws Exception {
        String baseUrl = System.getenv("BASE_URL");
        int count = Integer.parseInt(System.getenv().getOrDefault("COUNT", "1"));
        HttpClient client = HttpClient.newHttpClient();
        for (int number = 1; number <= count; number++) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(baseUrl + "/create_order"))
                .header("Content-Type", "application/json")
                .header("Countersign-Reference", "order-" + number)
                .POST(HttpRequest.BodyPublishers.ofString("{\"order_amount\": 10, \"order_currency\": \"EUR\"}"))
                .build();
            HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
            System.out.println(answer.statusCode() + " " + answer.headers().firstValue("countersign-outcome").orElse(""));
        }
    }
}
