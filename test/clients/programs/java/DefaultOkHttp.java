import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

class DefaultOkHttp {
    public static void main(String[] arguments) {
        OkHttpClient client = new OkHttpClient();
        RequestBody body = RequestBody.create(Orders.BODY, MediaType.get("application/json"));
        Orders.tell(reference -> {
            Request request = new Request.Builder().url(Orders.URL).header(Orders.HEADER, reference).post(body).build();
            try (Response answer = client.newCall(request).execute()) {
                answer.body().string();
                return answer.code();
            }
        });
    }
}
