#!/bin/sh
for number in $(seq "$COUNT"); do
  # shellcheck disable=SC2046
  wget --quiet --server-response --output-document=/dev/null ${SET:+--tries=1 --max-redirect=0} --waitretry=0 \
    --header 'Content-Type: application/json' --header "$HEADER: order-$number" \
    --post-data '{"order_amount": 10.10, "order_currency": "EUR"}' "$BASE_URL/create_order" 2>"${TMPDIR:-/tmp}/wget.$$"
  case $? in
    0 | 8) sed -n 's/^ *HTTP[^ ]* \([0-9]*\).*/\1/p' "${TMPDIR:-/tmp}/wget.$$" | tail -n 1 ;;
    *) echo no answer ;;
  esac
done
rm -f "${TMPDIR:-/tmp}/wget.$$"
