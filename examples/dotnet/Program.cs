// Creates orders through Countersign with HttpClient: COUNT of them, over one connection.
using System.Text;

// With HTTP_PROXY set, set NO_PROXY=127.0.0.1 too: HttpClient uses the proxy for loopback addresses as well.
var baseUrl = Environment.GetEnvironmentVariable("BASE_URL") ?? "http://127.0.0.1:7411";
var count = int.Parse(Environment.GetEnvironmentVariable("COUNT") ?? "1");

// One client for all calls keeps its connections. It sends no body again: add no Polly policy that repeats a POST.
using var handler = new SocketsHttpHandler { AllowAutoRedirect = false }; // a redirect would send the order again
using var client = new HttpClient(handler)
{
    Timeout = TimeSpan.FromSeconds(25), // longer than Countersign's own 20 s, so that Countersign says how it ended
};

for (var number = 1; number <= count; number++)
{
    var reference = $"order-{number}"; // your own key for the order, by which you find it again
    switch (await CreateOrder(reference))
    {
        case "answered":
            continue;
        case "not_sent":
            Console.Error.WriteLine($"{reference} was not sent: it may be sent again");
            return 75;
        default:
            Console.Error.WriteLine($"{reference} may exist: look for it before you send it again");
            return 1;
    }
}
return 0;

async Task<string?> CreateOrder(string reference)
{
    using var request = new HttpRequestMessage(HttpMethod.Post, $"{baseUrl}/create_order");
    request.Headers.Add("Countersign-Reference", reference);
    const string order = "{\"order_amount\": 10, \"order_currency\": \"EUR\"}";
    request.Content = new StringContent(order, Encoding.UTF8, "application/json");
    try
    {
        using var answer = await client.SendAsync(request); // reads the body to its end, so that the connection is kept
        var outcome = answer.Headers.TryGetValues("Countersign-Outcome", out var values) ? values.First() : null;
        Console.WriteLine($"{(int)answer.StatusCode} {outcome}");
        return outcome;
    }
    catch (Exception error) when (error is HttpRequestException or TaskCanceledException)
    {
        Console.Error.WriteLine($"{reference}: no answer: {error.Message}");
        return null;
    }
}
