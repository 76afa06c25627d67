import static org.asynchttpclient.Dsl.asyncHttpClient;
import static org.asynchttpclient.Dsl.config;

import org.asynchttpclient.AsyncHttpClient;
import org.asynchttpclient.DefaultAsyncHttpClientConfig;

class WithAsyncHttpClient {
    public static void main(String[] arguments) {
        DefaultAsyncHttpClientConfig.Builder config = config().setUseProxyProperties(true);
        if (Orders.IS_SET) config.setMaxRequestRetry(0);
        AsyncHttpClient client = asyncHttpClient(config);
        Orders.tell(reference -> client.preparePost(Orders.URL)
            .setHeader("Content-Type", "application/json")
            .setHeader(Orders.HEADER, reference)
            .setBody(Orders.BODY)
            .execute()
            .get()
            .getStatusCode());
    }
}
