/** What the programs beside this one share: they post each order of COUNT with a header of its own, and print its status. */
class Orders {
    static final String URL = System.getenv("BASE_URL") + "/create_order";
    static final String BODY = "{\"order_amount\": 10.10, \"order_currency\": \"EUR\"}";
    static final String HEADER = System.getenv("HEADER");
    static final boolean IS_SET = !System.getenv("SET").isEmpty();

    interface Post {
        int post(String reference) throws Exception;
    }

    static void tell(Post post) {
        int count = Integer.parseInt(System.getenv("COUNT"));
        for (int number = 1; number <= count; number++) {
            try {
                System.out.println(post.post("order-" + number));
            } catch (Exception error) {
                System.out.println("no answer");
                System.err.println(error);
            }
        }
        System.exit(0);
    }
}
