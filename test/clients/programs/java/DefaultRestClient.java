import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.web.client.RestClient;

/** Spring takes Apache's HttpClient if it is on the class path, otherwise the JDK's. */
class DefaultRestClient {
    public static void main(String[] arguments) {
        RestClient client = RestClient.builder().defaultStatusHandler(HttpStatusCode::isError, (request, answer) -> {}).build();
        Orders.tell(reference -> client.post()
            .uri(Orders.URL)
            .contentType(MediaType.APPLICATION_JSON)
            .header(Orders.HEADER, reference)
            .body(Orders.BODY)
            .retrieve()
            .toEntity(String.class)
            .getStatusCode()
            .value());
    }
}
