import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;

class DefaultUrlConnection {
    public static void main(String[] arguments) {
        if (Orders.IS_SET) {
            System.setProperty("sun.net.http.retryPost", "false");
            HttpURLConnection.setFollowRedirects(false);
        }
        Orders.tell(reference -> {
            HttpURLConnection connection = (HttpURLConnection) new URL(Orders.URL).openConnection();
            connection.setRequestMethod("POST");
            connection.setRequestProperty("Content-Type", "application/json");
            connection.setRequestProperty(Orders.HEADER, reference);
            connection.setDoOutput(true);
            connection.getOutputStream().write(Orders.BODY.getBytes());
            int status = connection.getResponseCode();
            try (InputStream body = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
                if (body != null) body.readAllBytes();
            }
            return status;
        });
    }
}
