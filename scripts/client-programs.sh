#!/usr/bin/env bash
# Fetches and builds what the programs of examples/ need, in the versions and with the checksums that their own files pin:
# into .tools/clients, and examples/node/node_modules. Where a language's tool is missing or fails, the others go on: the
# tests of test/clients say NOT TRIED for it.
set -uo pipefail
cd "$(dirname "$0")/.."

into=$PWD/.tools/clients
mkdir -p "$into"
status=0

fetch() { # language, its tool, command…
  local language=$1 tool=$2
  shift 2
  if ! command -v "$tool" >/dev/null; then
    echo "NOTE: $language: $tool is missing"
  elif ! "$@"; then
    echo "NOTE: $language: $* failed"
    status=1
  fi
}

# Maven compares each jar with the registry's checksum, the list with ours, and what differs is not used. After a change of a
# version the list is written by: cd .tools/clients && sha256sum java/*.jar apache/*.jar
fetch_jars() {
  rm -rf "$into/java" "$into/apache"
  copy_jars examples/java java && copy_jars test/clients/programs apache &&
    (cd "$into" && sha256sum --quiet --check "$OLDPWD/test/clients/programs/jars.sha256") && return
  rm -rf "$into/java" "$into/apache"
  return 1
}

copy_jars() { # folder with a pom.xml, where its jars go
  mvn --quiet --batch-mode --strict-checksums --file "$1/pom.xml" \
    dependency:copy-dependencies -DoutputDirectory="$into/$2"
}

# As a restored cache may be from another Python, what is there is replaced.
fetch Python pip3 pip3 install --quiet --disable-pip-version-check --root-user-action=ignore --target "$into/python" --upgrade \
  --require-hashes --requirement examples/python/requirements.txt
fetch Node.js npm npm ci --silent --prefix examples/node
fetch Java mvn fetch_jars
fetch Rust cargo cargo build --quiet --locked --manifest-path examples/rust/Cargo.toml --target-dir "$into/rust"
fetch .NET dotnet dotnet build --nologo --verbosity quiet --output "$into/dotnet" examples/dotnet
exit $status
