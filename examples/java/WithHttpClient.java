import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

/** Creates orders through Countersign with the JDK's HttpClient: COUNT of them, over one connection. */
class WithHttpClient {
    // Java uses the proxy of -Dhttp.proxyHost, but not for loopback addresses. -Dhttp.nonProxyHosts replaces NO_PROXY.
    static final String BASE_URL = System.getenv().getOrDefault("BASE_URL", "http://127.0.0.1:7411");
    static final int COUNT = Integer.parseInt(System.getenv().getOrDefault("COUNT", "1"));

    // The client follows no redirect and repeats no POST: leave -Djdk.httpclient.enableAllMethodRetry out.
    static final HttpClient client = HttpClient.newHttpClient();

    public static void main(String[] arguments) throws Exception {
        for (int number = 1; number <= COUNT; number++) {
            String reference = "order-" + number; // your own key for the order, by which you find it again
            String outcome = createOrder(reference);
            if (outcome.equals("answered")) continue;
            if (outcome.equals("not_sent")) {
                System.err.println(reference + " was not sent: it may be sent again");
                System.exit(75);
            }
            System.err.println(reference + " may exist: look for it before you send it again");
            System.exit(1);
        }
    }

    static String createOrder(String reference) throws InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(BASE_URL + "/create_order"))
            .header("Content-Type", "application/json")
            .header("Countersign-Reference", reference)
            .timeout(Duration.ofSeconds(25)) // longer than Countersign's own 20 s, so that Countersign says how it ended
            .POST(HttpRequest.BodyPublishers.ofString("{\"order_amount\": 10, \"order_currency\": \"EUR\"}"))
            .build();
        try {
            HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
            String outcome = answer.headers().firstValue("Countersign-Outcome").orElse("unknown");
            System.out.println(answer.statusCode() + " " + outcome);
            return outcome;
        } catch (IOException error) {
            System.err.println(reference + ": no answer: " + error);
            return "unknown";
        }
    }
}
