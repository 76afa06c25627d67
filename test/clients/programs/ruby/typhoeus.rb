require "typhoeus"
require_relative "order"

set = IS_SET ? { forbid_reuse: true } : {}
tell do |headers|
  answer = Typhoeus.post(URL, body: BODY, headers: headers, **set)
  raise answer.return_message unless answer.return_code == :ok

  answer.code
end
