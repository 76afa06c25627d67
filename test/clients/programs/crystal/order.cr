require "http/client"
require "json"

uri = URI.parse(ENV["BASE_URL"])
host = uri.host.not_nil!
port = uri.port || 80
shared = HTTP::Client.new(host, port)
body = {order_amount: 10.10, order_currency: "EUR"}.to_json
(1..ENV["COUNT"].to_i).each do |number|
  client = ENV["SET"] == "" ? shared : HTTP::Client.new(TCPSocket.new(host, port), host, port)
  headers = HTTP::Headers{"Content-Type" => "application/json", ENV["HEADER"] => "order-#{number}"}
  puts client.post("#{uri.path}/create_order", headers, body).status_code
rescue error
  puts "no answer"
  STDERR.puts error.message
end
