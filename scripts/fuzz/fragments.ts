// Odd pieces of HTTP and JSON (latin1): each has been a vulnerability of some program, or a special case of our own parser.

export const targets: readonly string[] = [
  ["/create_order", "/get_order", "/other", "/", "", "*", "/create_order/", "/json-api/create_order"],
  ["/simulator/counts"],
  ["//evil.example/create_order", "/\\evil.example/create_order", "/create_order/../get_order"],
  ["/create_order/..;/get_order"],
  ["/%63reate_order", "/create_order%2f", "/create_order%00", "/create_order?a=b", "/create_order#f"],
  ["evil.example:443", "http://evil.example/json-api/create_order", "http://user@127.0.0.1/create_order"],
  ["HTTP://127.0.0.1/create_order", "/create_order\t", "/\xff"],
].flat();

export const headerLines: readonly string[] = [
  ["Connection: close", "Connection: keep-alive", "Connection: authorization, x-request-id"],
  ["Connection: content-length", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "Keep-Alive: timeout=0"],
  ["Expect: 100-continue", "Expect: 100-Continue, x", "Expect: \x0b100-continue", "Authorization: Bearer stolen"],
  ["aUtHoRiZaTiOn: Basic eDp5", "Cookie: a=b", "Proxy-Authorization: Basic eDp5", "Host: evil.example"],
  ["Host: localhost", "Host:", "Content-Encoding: gzip", "Content-Type: text/plain"],
  ["Content-Type: application/json; charset=utf-16", "Countersign-Site: S1000000003", "Countersign-Site: S9"],
  ["Countersign-Auth: hmac", "Countersign-Auth: none", "Countersign-Timeout-Ms: 5000", "Countersign-Timeout-Ms: -1"],
  ["Countersign-Reference: A-1042", "Countersign-Reference: a\tb", "Countersign-Outcome: answered"],
  ["X-Request-Id: of-the-caller", "X-Request-Id: \xff\x80", "X-Request-Id:"],
  ["traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate: a=b", "User-Agent: fuzz/1"],
  ["Via: 1.1 countersign", "TE: trailers", "Trailer: Content-Length", "Transfer-Encoding: identity"],
  ["Accept: text/html", "Accept-Language: de", "X: a\rb", "X: a\nTransfer-Encoding: chunked", "X: a\0b", "X : 1"],
  [" folded", "NoColon", ": no name", "X-\xe9: 1", "Content-Length: 0", "Transfer-Encoding: chunked"],
].flat();

/** Pieces that a mutation inserts between bytes. */
export const pieces: readonly string[] = [
  ["\r\n", "\r\n\r\n", "\n", "\r", "\0", " ", "\t", ":", "\x7f", "\x80", "\xff", "{", "}", '"', "\\u0000"],
  ["0\r\n\r\n", "ffffffff\r\n", "1;a=b\r\n", "-1\r\n"],
  ["Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding:\x0bchunked\r\n"],
  ["HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ["\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
  ["POST /get_order HTTP/1.1\r\nHost: smuggled\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"],
  ["CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n"],
].flat();

/** Values as written in a JSON text: good ones, odd ones, and some that are not JSON. */
export const values: readonly string[] = [
  ['"10.00"', '"EUR"', '""', "true", "false", "null", "{}", "[]", '{"a":"b"}'],
  ["10", "1.005", "-0", "1e2", "1E400", "1e-400", "9007199254740993", "12345678901234567890.10"],
  ["0.1e+0000000000000000000003", "01", "+1", ".5", "1.", "0x10", "NaN"],
  ['"a\\u0000b"', '"\\ud800"', '"\\ud83d\\ude00"', '"\\uDC00\\uD800"', '"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\x41"'],
  ['"\\u12"'],
  ['"\xc3\xa9"', '"\xff\xfe"', '"\xed\xa0\x80"', '"\xc0\x80"', '"a\tb"', '"a\r\nX-Evil: 1"'],
  ['"unended', "'single'", "/* comment */ 1"],
].flat();

/** Names that shall come twice are listed more than once. */
export const names: readonly string[] = [
  ["order_amount", "order_amount", "order_currency", "refund_amount", "a", "a", "\\u0061", "a.b-c_D", "a b"],
  ["\xc3\xa9"],
  ["__proto__", "constructor", "toString", "", " "],
  ["timestamp", "signature", "version", "format", "call", "site_identifier"],
].flat();

export const sites: readonly string[] = ["S1000000001", "S1000000003", "K2000000001", "K9", "S1000000002", ""];
