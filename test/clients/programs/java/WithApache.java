import org.apache.hc.client5.http.classic.methods.HttpPost;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClientBuilder;
import org.apache.hc.core5.http.ContentType;
import org.apache.hc.core5.http.io.entity.EntityUtils;
import org.apache.hc.core5.http.io.entity.StringEntity;

class WithApache {
    public static void main(String[] arguments) {
        HttpClientBuilder builder = HttpClientBuilder.create().useSystemProperties();
        if (Orders.IS_SET) builder.disableAutomaticRetries().disableRedirectHandling();
        CloseableHttpClient client = builder.build();
        Orders.tell(reference -> {
            HttpPost post = new HttpPost(Orders.URL);
            post.setHeader(Orders.HEADER, reference);
            post.setEntity(new StringEntity(Orders.BODY, ContentType.APPLICATION_JSON));
            return client.execute(post, answer -> {
                EntityUtils.consume(answer.getEntity());
                return answer.getCode();
            });
        });
    }
}
