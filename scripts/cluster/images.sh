#!/usr/bin/env bash
# Makes the base images that the Dockerfile names in the engine of DOCKER_HOST, with the cluster's own authority, and pushes the
# other images of the node's pods to REGISTRY. Usage: images.sh FOLDER, in which it makes ca/ca.crt and ca.key.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=$1
mkdir "$folder/ca"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 365 -subj "/CN=countersign cluster" \
  -keyout "$folder/ca.key" -out "$folder/ca/ca.crt" 2>/dev/null

named_in_dockerfile() { sed -n "s/^ARG $1=//p" Dockerfile | head -n 1; }
stand_ins=$(scripts/image/stand-ins.sh)
{ read -r node && read -r base; } <<<"$stand_ins"
docker tag "$node" "$(named_in_dockerfile NODE_IMAGE)"
# The hosts of docs/kubernetes.md speak TLS with this authority: users with a private authority put it into the base image, too.
cat >"$folder/ca/Dockerfile" <<'END'
ARG BASE
FROM ${BASE}
COPY ca.crt /etc/ssl/certs/cluster.crt
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/cluster.crt
END
build() {
  local said
  said=$(docker build --quiet "$@" 2>&1) && return
  echo "$said" >&2
  return 1
}
build --tag "$(named_in_dockerfile BASE_IMAGE)" --build-arg BASE="$base" "$folder/ca"

push() { docker push --quiet "$REGISTRY/$1" >/dev/null; }
tar -C .tools/cluster/bin -c pause | docker import --change 'ENTRYPOINT ["/pause"]' --change 'USER 65535' - "$REGISTRY/pause:1" >/dev/null
push pause:1
scripts/redis-image.sh "$REGISTRY/redis:7" >/dev/null
push redis:7
# The build of Countersign's own image reuses these layers: Docker has no network here except the machine's.
build --network host --target simulator --tag "$REGISTRY/simulator:1" .
push simulator:1
build --tag "$REGISTRY/orders:1" --build-arg BASE="$REGISTRY/simulator:1" test/platform/cluster/application
push orders:1
