#!/usr/bin/env bash
# Attaches to a pushed image, as a signed attestation, the bill of materials that lies in it: to the image of each platform
# its own. Usage: scripts/image/attach-sbom.sh REPOSITORY@DIGEST; the digest is the one that `docker buildx build --push` gives.
set -euo pipefail
cd "$(dirname "$0")/../.."

image=$1
repository=${image%@*}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# BuildKit's own attestations are in the list of platforms too, as those of an unknown system.
list_platforms() {
  docker buildx imagetools inspect --raw "$image" | node -e '
    const { manifests = [] } = JSON.parse(require("fs").readFileSync(0, "utf8"));
    for (const { digest, platform } of manifests) if (platform?.os !== "unknown") console.log(digest);'
}

platforms=$(list_platforms)
for digest in ${platforms:-${image#*@}}; do
  docker pull --quiet "$repository@$digest"
  node --import tsx scripts/image/sbom/main.ts "$repository@$digest" "$scratch/image.cdx.json"
  cosign attest --yes --type cyclonedx --predicate "$scratch/image.cdx.json" "$repository@$digest"
done
