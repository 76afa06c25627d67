require "http"
require_relative "order"

client = HTTP.persistent(URL)
tell { |headers| client.post(URL, body: BODY, headers: headers).flush.status.code }
