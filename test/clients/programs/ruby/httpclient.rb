require "httpclient"
require_relative "order"

client = HTTPClient.new
tell { |headers| client.post(URL, BODY, headers).status }
