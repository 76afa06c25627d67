#!/usr/bin/env bash
# Builds an image with Docker. Usage: scripts/image/build.sh proxy|simulator NAME [OPTION…]; options go to docker build.
# NODE_IMAGE and BASE_IMAGE name other base images than the Dockerfile's. If these cannot be pulled, stand-ins replace
# them (stand-ins.sh), and a line says so.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$1
name=$2
shift 2
named_in_dockerfile() { sed -n "s/^ARG $1=//p" Dockerfile | head -n 1; }
is_here() { docker image inspect "$1" >/dev/null 2>&1 || timeout 120 docker pull --quiet "$1" >/dev/null 2>&1; }

node=${NODE_IMAGE:-$(named_in_dockerfile NODE_IMAGE)}
base=${BASE_IMAGE:-$(named_in_dockerfile BASE_IMAGE)}
if ! is_here "$node" || ! is_here "$base"; then
  echo "NOTE: $node and $base cannot both be pulled here: Debian's packages and npm's Node stand in for them"
  stand_ins=$(scripts/image/stand-ins.sh)
  { read -r node && read -r base; } <<<"$stand_ins"
fi

# Docker without the buildx plug-in has its classic builder only.
docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0
docker build --target "$target" --tag "$name" "$@" \
  --build-arg NODE_IMAGE="$node" \
  --build-arg BASE_IMAGE="$base" \
  --build-arg VERSION="$(node -p 'require("./package.json").version')" \
  --build-arg REVISION="$(git rev-parse HEAD 2>/dev/null || echo unknown)" .
