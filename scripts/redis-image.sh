#!/usr/bin/env bash
# Makes a Docker image of this machine's own redis-server and the libraries it needs, for machines that reach no image
# registry. Usage: scripts/redis-image.sh [NAME]; then COUNTERSIGN_TEST_REDIS_IMAGE=NAME.
set -euo pipefail

name=${1:-countersign-test-redis:latest}
server=$(readlink -f "$(command -v redis-server)")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

install -D "$server" "$root/usr/bin/redis-server"
ldd "$server" | grep -o '/[^ ]*' | sort -u | while read -r library; do
  install -D "$(readlink -f "$library")" "$root$library"
done
install -d -m 1777 "$root/data" "$root/tmp"

# Outside its container nobody can reach it but by the published port, so it needs no password.
tar -C "$root" -c . | docker import \
  --change 'EXPOSE 6379' \
  --change 'WORKDIR /data' \
  --change 'CMD ["/usr/bin/redis-server", "--protected-mode", "no", "--save", ""]' \
  - "$name" >/dev/null
echo "$name"
