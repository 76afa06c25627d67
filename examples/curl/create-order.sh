#!/bin/sh
# Creates an order through Countersign, COUNT times over one connection. Prints the status and the outcome of each.
# --data sends a form unless Content-Type says otherwise. curl repeats nothing by itself: leave --retry out.
base_url=${BASE_URL:-http://127.0.0.1:7411}
set --
for _ in $(seq "${COUNT:-1}"); do set -- "$@" --output /dev/null "$base_url/create_order"; done
exec curl --silent --show-error --max-time 25 \
  --header 'Content-Type: application/json' \
  --data '{"order_amount": 10, "order_currency": "EUR"}' \
  --write-out '%{http_code} %header{countersign-outcome}\n' \
  "$@"
