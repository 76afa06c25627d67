require "faraday"
require_relative "order"

client = Faraday.new
tell { |headers| client.post(URL, BODY, headers).status }
