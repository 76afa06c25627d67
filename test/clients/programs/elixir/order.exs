:inets.start()
url = String.to_charlist(System.fetch_env!("BASE_URL") <> "/create_order")
header = String.to_charlist(System.fetch_env!("HEADER"))
options = [autoredirect: System.fetch_env!("SET") == ""]

for number <- 1..String.to_integer(System.fetch_env!("COUNT")) do
  body = ~s({"order_amount": 10.10, "order_currency": "EUR"})

  case :httpc.request(:post, {url, [{header, 'order-#{number}'}], 'application/json', body}, options, []) do
    {:ok, {{_, status, _}, _, _}} ->
      IO.puts(status)

    {:error, error} ->
      IO.puts("no answer")
      IO.puts(:stderr, inspect(error))
  end
end
