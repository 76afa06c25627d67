import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.client.RestClient;

/** RestClient with its defaults, and Apache HttpClient 5 on the class path: Spring uses that client, which repeats after a 503. */
class DefaultApache {
    public static void main(String[] arguments) {
        String baseUrl = System.getenv("BASE_URL");
        int count = Integer.parseInt(System.getenv().getOrDefault("COUNT", "1"));
        RestClient client = RestClient.builder()
            .baseUrl(baseUrl)
            .defaultStatusHandler(HttpStatusCode::isError, (request, answer) -> {})
            .build();
        for (int number = 1; number <= count; number++) {
            ResponseEntity<String> answer = client.post()
                .uri("/create_order")
                .contentType(MediaType.APPLICATION_JSON)
                .header("Countersign-Reference", "order-" + number)
                .body("{\"order_amount\": 10, \"order_currency\": \"EUR\"}")
                .retrieve()
                .toEntity(String.class);
            System.out.println(answer.getStatusCode().value() + " " + answer.getHeaders().getFirst("Countersign-Outcome"));
        }
    }
}
