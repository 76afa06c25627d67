#!/usr/bin/env bash
# Makes all published files, except the images, in a new folder: the npm package, its bill of materials, the chart, the mixin, the
# Homebrew formula, and the SHA-256 of each. Usage: scripts/release/artifacts.sh FOLDER
set -euo pipefail
mkdir "$1"
folder=$(realpath "$1")
cd "$(dirname "$0")/../.."
PATH=$PWD/.tools/bin:$PATH

version=$(node -p 'require("./package.json").version')
package=countersign-$version.tgz
npm pack --silent --pack-destination "$folder"
node scripts/sbom.mjs "$folder/countersign-$version.cdx.json"
helm package helm/countersign --destination "$folder/chart"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
node --import tsx scripts/mixin/main.ts "$scratch/countersign-mixin"
# The mixin's name must not begin like the npm package's, which is published by a pattern.
tar -C "$scratch" -czf "$folder/monitoring-mixin-$version.tgz" countersign-mixin

cd "$folder"
sha256=$(sha256sum "$package" | cut -d ' ' -f 1)
sed -e '/^# Template: /d' -e "s/@VERSION@/$version/" -e "s/@SHA256@/$sha256/" "$OLDPWD/deploy/homebrew/countersign.rb" >countersign.rb
find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >"$scratch/SHA256SUMS"
mv "$scratch/SHA256SUMS" .
