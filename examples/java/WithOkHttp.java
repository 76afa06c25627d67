import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okio.BufferedSink;

/** Creates orders through Countersign with OkHttp: COUNT of them, over one connection. */
class WithOkHttp {
    // Java uses the proxy of -Dhttp.proxyHost, but not for loopback addresses. -Dhttp.nonProxyHosts replaces NO_PROXY.
    static final String BASE_URL = System.getenv().getOrDefault("BASE_URL", "http://127.0.0.1:7411");
    static final int COUNT = Integer.parseInt(System.getenv().getOrDefault("COUNT", "1"));

    static final OkHttpClient client = new OkHttpClient.Builder()
        .retryOnConnectionFailure(false) // otherwise it sends the order again when a kept connection closes, and after 408
        .followRedirects(false) // a redirect would send the order again
        .readTimeout(Duration.ZERO) // 10 s by default
        .callTimeout(Duration.ofSeconds(25)) // longer than Countersign's own 20 s, so that Countersign says how it ended
        .build();

    public static void main(String[] arguments) {
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
        System.exit(0); // otherwise OkHttp's threads keep the program running for a minute
    }

    static String createOrder(String reference) {
        Request request = new Request.Builder()
            .url(BASE_URL + "/create_order")
            .header("Countersign-Reference", reference)
            .post(oneShot("{\"order_amount\": 10, \"order_currency\": \"EUR\"}"))
            .build();
        try (Response answer = client.newCall(request).execute()) {
            answer.body().string(); // read to its end, otherwise the connection is not kept
            String outcome = answer.header("Countersign-Outcome", "unknown");
            System.out.println(answer.code() + " " + outcome);
            return outcome;
        } catch (IOException error) {
            System.err.println(reference + ": no answer: " + error);
            return "unknown";
        }
    }

    /** A body that is sent once: otherwise OkHttp sends it again after a 503 with `Retry-After: 0`, with any settings. */
    static RequestBody oneShot(String json) {
        byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
        return new RequestBody() {
            @Override public boolean isOneShot() { return true; }
            @Override public MediaType contentType() { return MediaType.get("application/json"); }
            @Override public long contentLength() { return bytes.length; }
            @Override public void writeTo(BufferedSink sink) throws IOException { sink.write(bytes); }
        };
    }
}
