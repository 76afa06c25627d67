#!/bin/sh
# Makes the secrets that compose.yaml mounts: two credential sets of the simulator, made up and public, and a key of your own.
set -eu
cd "$(dirname "$0")"
umask 077

for set in blue green; do
  mkdir -p "secrets/$set"
  printf %s "client-$set" >"secrets/$set/client-id"
  printf %s "example-client-secret-$set" >"secrets/$set/client-secret"
  printf %s https://api.sandbox.example >"secrets/$set/audience"
done
[ -s secrets/token-key ] || docker run --rm "countersign:${COUNTERSIGN_VERSION:-0.1.0}" keygen >secrets/token-key

# Only their owner may read them, so the proxies run as you do; root gives them to the image's own user.
if [ "$(id -u)" -eq 0 ]; then
  chown -R 65532:65532 secrets
else
  echo "OWNER=$(id -u):$(id -g)" >.env
fi
