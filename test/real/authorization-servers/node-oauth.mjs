/** @node-oauth/oauth2-server: node node-oauth.mjs PORT LIFE_SECONDS, installed in the folder NODE_PATH. */
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";

const OAuth2Server = createRequire(`${resolve(process.env.NODE_PATH)}/`)("@node-oauth/oauth2-server");
const [port, accessTokenLifetime] = process.argv.slice(2).map(Number);
const tokens = new Map();
const server = new OAuth2Server({
  accessTokenLifetime,
  model: {
    getClient: (id, secret) => secret === process.env.SECRET && { id, grants: ["client_credentials"] },
    getUserFromClient: ({ id }) => ({ id }),
    saveToken(token, client, user) {
      tokens.set(token.accessToken, { ...token, client, user });
      return tokens.get(token.accessToken);
    },
    getAccessToken: (token) => tokens.get(token),
  },
});

createServer(async (incoming, outgoing) => {
  const { method, headers, url } = incoming;
  const body = Object.fromEntries(new URLSearchParams(await text(incoming)));
  const request = new OAuth2Server.Request({ method, headers, query: {}, body });
  const response = new OAuth2Server.Response({});
  try {
    if (url === "/issued") response.body = { issued: tokens.size };
    else if (url === "/token") await server.token(request, response);
    else await server.authenticate(request, response);
  } catch (error) {
    response.status = error.code;
    response.body = { error: error.name };
  }
  outgoing.writeHead(response.status, { ...response.headers, "content-type": "application/json" });
  outgoing.end(JSON.stringify(response.body));
}).listen(port, "127.0.0.1");
