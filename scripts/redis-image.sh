#!/usr/bin/env bash
# Makes a Docker image of this machine's own redis-server and redis-cli, and the libraries they need, for machines that reach
# no image registry. Usage: scripts/redis-image.sh [NAME]; then COUNTERSIGN_TEST_REDIS_IMAGE=NAME.
set -euo pipefail

name=${1:-countersign-test-redis:latest}
server=$(readlink -f "$(command -v redis-server)")
client=$(readlink -f "$(command -v redis-cli)")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

install -D "$server" "$root/usr/bin/redis-server"
install -D "$client" "$root/usr/bin/redis-cli"
ldd "$server" "$client" | grep -o '/[^ :]*' | grep -vxF -e "$server" -e "$client" | sort -u | while read -r library; do
  install -D "$(readlink -f "$library")" "$root$library"
done
install -d -m 1777 "$root/data" "$root/tmp"

# From outside the container Redis is reached only through the published port, so it needs no password.
tar -C "$root" -c . | docker import \
  --change 'EXPOSE 6379' \
  --change 'WORKDIR /data' \
  --change 'CMD ["/usr/bin/redis-server", "--protected-mode", "no", "--save", ""]' \
  - "$name" >/dev/null
echo "$name"
