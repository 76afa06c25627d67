import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.ext.web.client.WebClient;
import io.vertx.ext.web.client.WebClientOptions;

class WithVertx {
    public static void main(String[] arguments) {
        WebClientOptions options = new WebClientOptions();
        if (Orders.IS_SET) options.setFollowRedirects(false);
        WebClient client = WebClient.create(Vertx.vertx(), options);
        Orders.tell(reference -> client.postAbs(Orders.URL)
            .putHeader("Content-Type", "application/json")
            .putHeader(Orders.HEADER, reference)
            .sendBuffer(Buffer.buffer(Orders.BODY))
            .toCompletionStage()
            .toCompletableFuture()
            .get()
            .statusCode());
    }
}
