require "excon"
require_relative "order"

client = Excon.new(URL, persistent: true)
tell { |headers| client.post(body: BODY, headers: headers).status }
