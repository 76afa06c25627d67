#!/usr/bin/env bash
# Builds both images for amd64 and arm64, each with a bill of materials and its provenance (SLSA), by BuildKit. Usage:
#   scripts/release/images.sh PREFIX --push     pushes to PREFIX/countersign… and signs, with cosign and the identity of the run
#   scripts/release/images.sh FOLDER            writes FOLDER/countersign….oci.tar, to inspect without a registry
# PLATFORMS names other platforms; options after these go to `docker buildx build`. Prints NAME@DIGEST for each image.
set -euo pipefail
cd "$(dirname "$0")/../.."

prefix=$1
shift
push=
[ "${1:-}" = --push ] && push=yes && shift

version=$(node -p 'require("./package.json").version')
revision=$(git rev-parse HEAD)
# The times in the image are those of the commit, so that the same commit makes the same layers.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for target in proxy simulator; do
  name=countersign
  [ "$target" = simulator ] && name=countersign-simulator
  if [ -z "$push" ]; then
    mkdir -p "$prefix"
    options=(--tag "$name:$version" --output "type=oci,dest=$prefix/$name.oci.tar")
  else
    options=(--tag "$prefix/$name:$version" --push)
    # The tag 0.1 moves with each 0.1.x; a pre-release moves no tag.
    [[ $version == *-* ]] || options+=(--tag "$prefix/$name:${version%.*}")
  fi
  docker buildx build --target "$target" --platform "${PLATFORMS:-linux/amd64,linux/arm64}" \
    --sbom=true --provenance=mode=max \
    --build-arg VERSION="$version" --build-arg REVISION="$revision" \
    --metadata-file "$scratch/$target.json" "${options[@]}" "$@" . >&2
  digest=$(node -p 'require(process.argv[1])["containerimage.digest"]' "$scratch/$target.json")
  # Signed by digest: a tag may have moved since.
  [ -z "$push" ] || cosign sign --yes "$prefix/$name@$digest" >&2
  echo "$prefix/$name@$digest"
done
