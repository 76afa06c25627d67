#!/usr/bin/env bash
# @node-oauth/oauth2-server 5.3.0: client id and secret in HTTP Basic are not decoded.
# Guess: both parts are form-decoded, as RFC 6749 section 2.3.1 says that clients encode them.
# Found: the model gets `a%2Fb` and `c%3D%3D`. A client that follows the RFC, with a secret that ends in `==`, is unknown.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . @node-oauth/oauth2-server@5.3.0

cat >try.mjs <<'END'
import OAuth2Server from "@node-oauth/oauth2-server";

const model = {
  async getClient(id, secret) {
    console.log(`the model is asked for client ${id} with secret ${secret}`);
    return { id, grants: ["client_credentials"] };
  },
  getUserFromClient: async () => ({}),
  saveToken: async (token, client, user) => ({ ...token, client, user }),
};
const encoded = ["a/b", "c=="].map(encodeURIComponent).join(":");
const headers = {
  "content-type": "application/x-www-form-urlencoded",
  "transfer-encoding": "chunked",
  authorization: `Basic ${Buffer.from(encoded).toString("base64")}`,
};
const request = { method: "POST", query: {}, headers, body: { grant_type: "client_credentials" } };
await new OAuth2Server({ model }).token(new OAuth2Server.Request(request), new OAuth2Server.Response({}));
END

diff - <(node try.mjs) <<'END'
the model is asked for client a%2Fb with secret c%3D%3D
END
