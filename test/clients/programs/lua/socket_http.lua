local http = require "socket.http"
local ltn12 = require "ltn12"

local body = '{"order_amount": 10.10, "order_currency": "EUR"}'
for number = 1, tonumber(os.getenv "COUNT") do
  local headers = { ["Content-Type"] = "application/json", ["Content-Length"] = #body, [os.getenv "HEADER"] = "order-" .. number }
  local done, status = http.request {
    url = os.getenv "BASE_URL" .. "/create_order", method = "POST", headers = headers,
    source = ltn12.source.string(body), redirect = os.getenv "SET" == "",
    proxy = os.getenv "http_proxy",
  }
  print(done and status or "no answer")
  if not done then io.stderr:write(status, "\n") end
end
