package require http
http::config -accept */* -proxyfilter {apply {host {}}} 
set body {{"order_amount": 10.10, "order_currency": "EUR"}}
for {set number 1} {$number <= $env(COUNT)} {incr number} {
  if {[catch {
    set answer [http::geturl $env(BASE_URL)/create_order -keepalive 1 -type application/json -query $body \
      -headers [list $env(HEADER) order-$number]]
    if {[http::status $answer] ne "ok"} { error [http::status $answer] }
    puts [http::ncode $answer]
    http::cleanup $answer
  } error]} {
    puts "no answer"
    puts stderr $error
  }
}
