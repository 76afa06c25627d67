import std/[httpclient, json, os, strutils]

let client = newHttpClient(maxRedirects = if getEnv("SET") == "": 5 else: 0)
let body = $(%*{"order_amount": 10.10, "order_currency": "EUR"})
for number in 1 .. parseInt(getEnv("COUNT")):
  client.headers = newHttpHeaders({"Content-Type": "application/json", getEnv("HEADER"): "order-" & $number})
  try:
    let answer = client.post(getEnv("BASE_URL") & "/create_order", body)
    discard answer.body
    echo answer.code.int
  except CatchableError as error:
    echo "no answer"
    stderr.writeLine(error.msg)
