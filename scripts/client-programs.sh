#!/usr/bin/env bash
# Fetches and builds the packages for the programs of examples/, in the versions and with the checksums that their files pin,
# into .tools/clients and examples/node/node_modules. With `all`, also languages and packages for test/clients/programs. If a language's tool is missing or fails, the script continues, and the
# tests of test/clients say NOT TRIED for that language.
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

# Maven compares each jar with the registry's checksum, sha256sum compares it with our list; jars that differ are not used.
# After a change of a version write the list with: cd .tools/clients && sha256sum java/*.jar apache/*.jar
fetch_jars() {
  rm -rf "$into/java" "$into/apache"
  copy_jars examples/java/pom.xml java && copy_jars test/clients/programs/java/apache.xml apache &&
    (cd "$into" && sha256sum --quiet --check "$OLDPWD/test/clients/programs/jars.sha256") && return
  rm -rf "$into/java" "$into/apache"
  return 1
}

copy_jars() { # POM, destination of its jars
  mvn --quiet --batch-mode --strict-checksums --file "$1" \
    dependency:copy-dependencies -DoutputDirectory="$into/$2"
}

# A restored cache may be from another Python, so existing packages are replaced.
fetch Python pip3 pip3 install --quiet --disable-pip-version-check --root-user-action=ignore --target "$into/python" --upgrade \
  --require-hashes --requirement examples/python/requirements.txt
fetch Node.js npm npm ci --silent --prefix examples/node
fetch Java mvn fetch_jars
fetch Rust cargo cargo build --quiet --locked --manifest-path examples/rust/Cargo.toml --target-dir "$into/rust"
fetch .NET dotnet dotnet build --nologo --verbosity quiet --output "$into/dotnet" examples/dotnet
[ "${1:-}" = all ] || exit $status

get_debian_packages() {
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends wget libwww-perl \
    libmojolicious-perl libfurl-perl lua5.4 lua-socket tcl r-cran-httr r-cran-httr2 ghc libghc-http-client-dev emacs-nox guile-3.0 \
    swi-prolog-nox erlang-base erlang-inets elixir nim crystal ruby-httpclient ruby-excon ruby-faraday ruby-http ruby-typhoeus \
    php-guzzlehttp-guzzle >/dev/null
}

programs=test/clients/programs
fetch Debian apt-get get_debian_packages
fetch Python pip3 pip3 install --quiet --disable-pip-version-check --root-user-action=ignore --target "$into/more-python" --upgrade \
  --requirement "$programs/python/requirements.txt"
fetch Node.js npm npm ci --silent --prefix "$programs/node"
fetch Java mvn copy_jars "$programs/java/more.xml" java-more
fetch Java mvn copy_jars "$programs/java/async-http-client.xml" java-async-http-client
fetch Go go go -C "$programs/go/more" build -o "$into/more-go/more" .
fetch Rust cargo cargo build --quiet --locked --manifest-path "$programs/rust/Cargo.toml" --target-dir "$into/more-rust"
exit $status
