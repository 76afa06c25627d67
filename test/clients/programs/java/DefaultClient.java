import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

class DefaultClient {
    public static void main(String[] arguments) {
        HttpClient client = HttpClient.newHttpClient();
        Orders.tell(reference -> {
            HttpRequest request = HttpRequest.newBuilder(URI.create(Orders.URL))
                .header("Content-Type", "application/json")
                .header(Orders.HEADER, reference)
                .POST(HttpRequest.BodyPublishers.ofString(Orders.BODY))
                .build();
            return client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
        });
    }
}
