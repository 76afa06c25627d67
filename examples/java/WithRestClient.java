import java.net.http.HttpClient;
import java.time.Duration;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.web.client.RestClientException;
import org.springframework.web.client.RestClient;

/** Creates orders through Countersign with Spring's RestClient: COUNT of them, over one connection. */
class WithRestClient {
    // Java uses the proxy of -Dhttp.proxyHost, but not for loopback addresses. -Dhttp.nonProxyHosts replaces NO_PROXY.
    static final String BASE_URL = System.getenv().getOrDefault("BASE_URL", "http://127.0.0.1:7411");
    static final int COUNT = Integer.parseInt(System.getenv().getOrDefault("COUNT", "1"));

    public static void main(String[] arguments) {
        // Name the HTTP client, or Spring uses any that it finds. Apache's repeats after a 503, HttpURLConnection after a close.
        HttpClient http = HttpClient.newHttpClient();
        JdkClientHttpRequestFactory factory = new JdkClientHttpRequestFactory(http);
        factory.setReadTimeout(Duration.ofSeconds(25)); // longer than Countersign's own 20 s, so that Countersign says how it ended
        RestClient client = RestClient.builder()
            .baseUrl(BASE_URL)
            .requestFactory(factory)
            .defaultStatusHandler(HttpStatusCode::isError, (request, answer) -> {}) // no status is an error: the outcome decides
            .build();
        for (int number = 1; number <= COUNT; number++) {
            String reference = "order-" + number; // your own key for the order, by which you find it again
            String outcome = createOrder(client, reference);
            if (outcome.equals("answered")) continue;
            if (outcome.equals("not_sent")) {
                System.err.println(reference + " was not sent: it may be sent again");
                System.exit(75);
            }
            System.err.println(reference + " may exist: look for it before you send it again");
            System.exit(1);
        }
    }

    static String createOrder(RestClient client, String reference) {
        try {
            ResponseEntity<String> answer = client.post()
                .uri("/create_order")
                .contentType(MediaType.APPLICATION_JSON)
                .header("Countersign-Reference", reference)
                .body("{\"order_amount\": 10, \"order_currency\": \"EUR\"}")
                .retrieve()
                .toEntity(String.class);
            String outcome = answer.getHeaders().getFirst("Countersign-Outcome");
            System.out.println(answer.getStatusCode().value() + " " + outcome);
            return outcome == null ? "unknown" : outcome;
        } catch (RestClientException error) {
            System.err.println(reference + ": no answer: " + error.getMessage());
            return "unknown";
        }
    }
}
