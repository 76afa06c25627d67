#!/bin/sh
# Makes the files that countersign.yaml names: tokens, a client secret, an authority, and certificates for the listener, a caller and a stranger.
# Usage: make-credentials.sh FOLDER
set -eu
umask 077
cd "$1"
for name in shop.token shop-next.token back-office.token blue; do openssl rand -hex 32 > "$name"; done
openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=example authority" -keyout ca.key -out ca.pem 2>/dev/null
sign() { # name, subject alternative name
  openssl req -new -newkey rsa:2048 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>/dev/null
  printf 'subjectAltName=%s\n' "$2" > "$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile "$1.ext" -out "$1.pem" 2>/dev/null
}
sign server DNS:localhost
sign payments URI:spiffe://example.org/ns/shop/sa/payments
sign stranger URI:spiffe://example.org/ns/shop/sa/stranger
