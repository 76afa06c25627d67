#!/bin/sh
# An application that still uses HMAC: it signs its order itself, names and values, sorted, with nothing between them.
# Usage: signed-order.sh KEY_FILE [BASE_URL]
set -eu
key_file=$1
base_url=${2:-http://127.0.0.1:7411}
timestamp=$(date +%s)
string="order_amount10.00order_currencyEURsite_identifierS1000000003timestamp${timestamp}version3.0"
# The key is visible in the arguments of openssl: acceptable for a test only.
signature=$(printf %s "$string" | openssl dgst -sha256 -hmac "$(cat "$key_file")" -r | cut -d ' ' -f 1)
curl -sS -o /dev/null -w '%{http_code}\n' -H 'Content-Type: application/json' "$base_url/create_order" --data "{
  \"version\": \"3.0\", \"site_identifier\": \"S1000000003\", \"timestamp\": \"$timestamp\",
  \"order_amount\": \"10.00\", \"order_currency\": \"EUR\", \"signature\": \"$signature\" }"
