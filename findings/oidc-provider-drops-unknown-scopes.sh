#!/usr/bin/env bash
# oidc-provider 9.13.3: a client credentials request for a scope that the server does not know gets a token.
# Guess: 400 invalid_scope; or a token whose answer has `scope`, since RFC 6749 section 5.1 demands it when the scope differs.
# Found: 200 without `scope`. A wrong scope is first noticed at the API, as a 403 or 401.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . oidc-provider@9.13.3

cat >try.mjs <<'END'
import Provider from "oidc-provider";

const client = {
  client_id: "shop",
  client_secret: "a-secret-of-the-shop",
  grant_types: ["client_credentials"],
  redirect_uris: [],
  response_types: [],
};
const features = { clientCredentials: { enabled: true }, devInteractions: { enabled: false } };
const server = new Provider("http://localhost", { features, clients: [client] }).listen(0, "127.0.0.1", async () => {
  const authorization = `Basic ${btoa(`${client.client_id}:${client.client_secret}`)}`;
  const body = new URLSearchParams({ grant_type: "client_credentials", scope: "orders:write" });
  const url = `http://127.0.0.1:${server.address().port}/token`;
  const answer = await fetch(url, { method: "POST", headers: { authorization }, body });
  console.log(answer.status, Object.keys(await answer.json()).sort().join(" "));
  server.close();
});
END

diff - <(node try.mjs 2>/dev/null | grep '^[0-9]') <<'END'
200 access_token expires_in token_type
END
