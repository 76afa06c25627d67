# What the programs beside this one share: they post each order of COUNT with a header of its own, and print its status.
require "json"

URL = "#{ENV.fetch("BASE_URL")}/create_order"
BODY = JSON.generate({ order_amount: 10.10, order_currency: "EUR" })
IS_SET = ENV.fetch("SET") != ""

def tell
  (1..Integer(ENV.fetch("COUNT"))).each do |number|
    puts yield({ "Content-Type" => "application/json", ENV.fetch("HEADER") => "order-#{number}" })
  rescue StandardError => error
    puts "no answer"
    warn error.message
  end
end
