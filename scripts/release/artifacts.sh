#!/usr/bin/env bash
# Makes all published files, except the images, in a new folder: the npm package, its bill of materials with the answers to advisories, the chart, and the
# SHA-256 of each. Usage: scripts/release/artifacts.sh FOLDER
set -euo pipefail
mkdir "$1"
folder=$(realpath "$1")
cd "$(dirname "$0")/../.."
PATH=$PWD/.tools/bin:$PATH

version=$(node -p 'require("./package.json").version')
npm pack --silent --pack-destination "$folder"
node scripts/sbom.mjs "$folder/countersign-$version.cdx.json"
cp deploy/vex/countersign.openvex.json "$folder/countersign-$version.openvex.json"
helm package helm/countersign --destination "$folder/chart"

cd "$folder"
# The sums' own file exists while `find` runs.
find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS
