# Creates orders through Countersign with Net::HTTP: COUNT of them, over one connection.
require "json"
require "net/http"

# Ruby uses no proxy for loopback addresses. For other addresses set NO_PROXY.
base_url = URI(ENV.fetch("BASE_URL", "http://127.0.0.1:7411"))
count = Integer(ENV.fetch("COUNT", "1"))

# The outcome of one order; nil if no answer came.
def create_order(http, path, reference)
  order = { order_amount: 10, order_currency: "EUR" }
  headers = { "Content-Type" => "application/json", "Countersign-Reference" => reference }
  http.start unless http.started? # so that the connection is kept
  answer = http.post(path, JSON.generate(order), headers)
  puts "#{answer.code} #{answer["Countersign-Outcome"]}"
  answer["Countersign-Outcome"]
rescue StandardError => error
  warn "#{reference}: no answer: #{error.message}"
  nil
end

http = Net::HTTP.new(base_url.host, base_url.port)
http.max_retries = 0 # it repeats no POST in any case, and follows no redirect
http.read_timeout = 25 # longer than Countersign's own 20 s, so that Countersign says how it ended
(1..count).each do |number|
  reference = "order-#{number}" # your own key for the order, by which you find it again
  case create_order(http, "#{base_url.path}/create_order", reference)
  when "answered" then next
  when "not_sent"
    warn "#{reference} was not sent: it may be sent again"
    exit 75
  else
    warn "#{reference} may exist: look for it before you send it again"
    exit 1
  end
end
