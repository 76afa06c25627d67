#!/bin/sh
# All orders by one curl, which keeps its connection.
set --
for number in $(seq "$COUNT"); do
  [ $# -eq 0 ] || set -- "$@" --next
  set -- "$@" --silent --show-error --output /dev/null --write-out '%{http_code}:%{exitcode}\n' \
    --header 'Content-Type: application/json' --header "$HEADER: order-$number" \
    --data '{"order_amount": 10.10, "order_currency": "EUR"}' "$BASE_URL/create_order"
done
curl "$@" | sed 's/:0$//; s/.*:.*/no answer/'
