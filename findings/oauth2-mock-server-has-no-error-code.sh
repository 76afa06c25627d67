#!/usr/bin/env bash
# oauth2-mock-server 9.3.0: a refused token request has no `error`.
# Guess: 400 with {"error":"unsupported_grant_type"} (RFC 6749 section 5.2), by which clients tell why.
# Found: problem details (RFC 9457) without `error`. A client that is tested with it never sees an OAuth error code.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . oauth2-mock-server@9.3.0

cat >try.mjs <<'END'
import { OAuth2Server } from "oauth2-mock-server";

const server = new OAuth2Server();
await server.issuer.keys.generate("RS256");
await server.start(0, "localhost");
const body = new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:device_code" });
const answer = await fetch(`${server.issuer.url}/token`, { method: "POST", body });
const { error = "no error", title, detail } = await answer.json();
console.log(answer.status, error, "|", title, "|", detail);
await server.stop();
END

diff - <(node try.mjs) <<'END'
400 no error | Bad Request | Invalid grant type
END
