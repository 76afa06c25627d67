import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

/** OkHttp with its defaults: it sends a POST again after some failures and answers. */
class DefaultOkHttp {
    public static void main(String[] arguments) throws Exception {
        String baseUrl = System.getenv("BASE_URL");
        int count = Integer.parseInt(System.getenv().getOrDefault("COUNT", "1"));
        OkHttpClient client = new OkHttpClient();
        RequestBody body = RequestBody.create("{\"order_amount\": 10, \"order_currency\": \"EUR\"}", MediaType.get("application/json"));
        for (int number = 1; number <= count; number++) {
            Request request = new Request.Builder()
                .url(baseUrl + "/create_order")
                .header("Countersign-Reference", "order-" + number)
                .post(body)
                .build();
            try (Response answer = client.newCall(request).execute()) {
                answer.body().string();
                System.out.println(answer.code() + " " + answer.header("Countersign-Outcome"));
            }
        }
        System.exit(0);
    }
}
