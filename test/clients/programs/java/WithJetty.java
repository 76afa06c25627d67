import org.eclipse.jetty.client.HttpClient;
import org.eclipse.jetty.client.StringRequestContent;

class WithJetty {
    public static void main(String[] arguments) throws Exception {
        HttpClient client = new HttpClient();
        if (Orders.IS_SET) client.setFollowRedirects(false);
        client.start();
        Orders.tell(reference -> client.POST(Orders.URL)
            .headers(headers -> headers.put(Orders.HEADER, reference))
            .body(new StringRequestContent("application/json", Orders.BODY))
            .send()
            .getStatus());
    }
}
