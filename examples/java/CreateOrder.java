import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

/** Creates an order through Countersign, COUNT times over one connection. Prints the status and the outcome of each. */
class CreateOrder {
    public static void main(String[] arguments) throws Exception {
        String baseUrl = System.getenv().getOrDefault("BASE_URL", "http://127.0.0.1:7411");
        int count = Integer.parseInt(System.getenv().getOrDefault("COUNT", "1"));
        // Without HTTP_1_1 every call asks for an upgrade to HTTP/2, and each gets a connection of its own.
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        HttpRequest request = HttpRequest.newBuilder(URI.create(baseUrl + "/create_order"))
            .header("Content-Type", "application/json")
            .timeout(Duration.ofSeconds(25)) // longer than Countersign's own 20 s, so that Countersign says how it ended
            .POST(HttpRequest.BodyPublishers.ofString("{\"order_amount\": 10, \"order_currency\": \"EUR\"}"))
            .build();
        for (int number = 0; number < count; number++) {
            // HttpClient repeats no POST. HttpURLConnection does, unless you run it with -Dsun.net.http.retryPost=false.
            HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
            // "unknown": the order may exist. Look for it before you send it again.
            System.out.println(answer.statusCode() + " " + answer.headers().firstValue("countersign-outcome").orElse(""));
        }
    }
}
