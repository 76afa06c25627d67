#!/bin/sh
# Sends a callback as the service does: names and values, sorted, with nothing between them, signed with the site's key.
# Usage: send-callback.sh KEY_FILE [URL] [TIMESTAMP]
set -eu
key_file=$1
url=${2:-http://127.0.0.1:7414/}
timestamp=${3:-$(date +%s)}
string="eventorder_paidsite_identifierS1000000003timestamp${timestamp}version3.0"
# The key is visible in the arguments of openssl: acceptable for a test only.
signature=$(printf %s "$string" | openssl dgst -sha256 -hmac "$(cat "$key_file")" -r | cut -d ' ' -f 1)
curl -sS --data-urlencode event=order_paid -d site_identifier=S1000000003 -d "timestamp=$timestamp" -d version=3.0 \
  -d "signature=$signature" -w '%{http_code}\n' "$url"
