require "net/http"
require_relative "order"

uri = URI(URL)
http = Net::HTTP.new(uri.host, uri.port)
tell do |headers|
  http.start unless http.started?
  http.post(uri.path, BODY, headers).code
end
