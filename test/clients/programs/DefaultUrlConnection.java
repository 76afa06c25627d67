import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;

/** HttpURLConnection with its defaults: it sends a POST again when a connection closes without an answer. */
class DefaultUrlConnection {
    public static void main(String[] arguments) throws Exception {
        String baseUrl = System.getenv("BASE_URL");
        int count = Integer.parseInt(System.getenv().getOrDefault("COUNT", "1"));
        for (int number = 1; number <= count; number++) {
            HttpURLConnection connection = (HttpURLConnection) new URL(baseUrl + "/create_order").openConnection();
            connection.setRequestMethod("POST");
            connection.setRequestProperty("Content-Type", "application/json");
            connection.setRequestProperty("Countersign-Reference", "order-" + number);
            connection.setDoOutput(true);
            connection.getOutputStream().write("{\"order_amount\": 10, \"order_currency\": \"EUR\"}".getBytes());
            int status = connection.getResponseCode();
            try (InputStream body = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
                if (body != null) body.readAllBytes();
            }
            System.out.println(status + " " + connection.getHeaderField("Countersign-Outcome"));
        }
    }
}
