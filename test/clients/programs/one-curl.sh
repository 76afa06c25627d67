#!/bin/sh
# Sends all orders by one curl, which keeps its connection.
set --
for number in $(seq "${COUNT:-1}"); do
  [ $# -eq 0 ] || set -- "$@" --next
  set -- "$@" --silent --show-error --output /dev/null --write-out '%{http_code} %header{countersign-outcome}\n' \
    --header 'Content-Type: application/json' --header "Countersign-Reference: order-$number" \
    --data '{"order_amount": 10, "order_currency": "EUR"}' "$BASE_URL/create_order"
done
exec curl "$@"
