#!/bin/sh
# Creates orders through Countersign with curl: COUNT of them, each by a curl of its own, over a connection of its own.
# One curl for several URLs would keep its connection. It would also send an order again when that closes without an
# answer, and no option turns that off. curl repeats nothing else: leave --retry and --location out.
# With http_proxy set, set NO_PROXY=127.0.0.1 too: curl uses the proxy for loopback addresses as well.
base_url=${BASE_URL:-http://127.0.0.1:7411}

create_order() { # reference: prints the status and the outcome
  # --data sends a form unless Content-Type says otherwise.
  # 25 s is longer than Countersign's own 20 s, so that Countersign says how it ended.
  curl --silent --show-error --max-time 25 --output /dev/null \
    --header 'Content-Type: application/json' \
    --header "Countersign-Reference: $1" \
    --data '{"order_amount": 10, "order_currency": "EUR"}' \
    --write-out '%{http_code} %header{countersign-outcome}\n' \
    "$base_url/create_order"
}

for number in $(seq "${COUNT:-1}"); do
  reference=order-$number # your own key for the order, by which you find it again
  if answer=$(create_order "$reference"); then echo "$answer"; else answer= && echo "$reference: no answer" >&2; fi
  case $answer in
    *' answered') ;;
    *' not_sent')
      echo "$reference was not sent: it may be sent again" >&2
      exit 75
      ;;
    *)
      echo "$reference may exist: look for it before you send it again" >&2
      exit 1
      ;;
  esac
done
