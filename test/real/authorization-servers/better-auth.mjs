/** better-auth with its OAuth provider: node better-auth.mjs PORT LIFE_SECONDS, both installed in the folder NODE_PATH. */
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const { resolve: find } = createRequire(`${resolve(process.env.NODE_PATH)}/`);
const { betterAuth } = await import(find("better-auth"));
const { memoryAdapter } = await import(find("better-auth/adapters/memory"));
const { toNodeHandler } = await import(find("better-auth/node"));
const { oauthProvider } = await import(find("@better-auth/oauth-provider"));

const [port, m2mAccessTokenExpiresIn] = process.argv.slice(2).map(Number);
const baseURL = `http://127.0.0.1:${port}`;
const secret = process.env.SECRET;
const asItIs = (text) => text;
const database = {};
const auth = betterAuth({
  baseURL,
  basePath: "/",
  secret: "signs cookies, of which there are none",
  database: memoryAdapter(database),
  plugins: [
    oauthProvider({
      scopes: ["orders"],
      m2mAccessTokenExpiresIn,
      disableJwtPlugin: true,
      storeClientSecret: { encrypt: asItIs, decrypt: asItIs },
      loginPage: "/",
      consentPage: "/",
    }),
  ],
});
const { adapter, tables } = await auth.$context;
for (const name of Object.keys(tables)) database[name] = [];
await adapter.create({
  model: "oauthClient",
  data: {
    clientId: "countersign",
    clientSecret: secret,
    grantTypes: ["client_credentials"],
    clientCredentialsScopes: ["orders"],
    redirectUris: [],
  },
});

async function isActive(token = "") {
  const headers = { authorization: `Basic ${btoa(`countersign:${encodeURIComponent(secret)}`)}` };
  const body = new URLSearchParams({ token });
  const request = new Request(`${baseURL}/oauth2/introspect`, { method: "POST", headers, body });
  return (await (await auth.handler(request)).json()).active;
}

const serve = toNodeHandler(auth);
createServer(async (request, response) => {
  if (request.url === "/oauth2/token") return serve(request, response);
  if (request.url === "/issued") return response.end(JSON.stringify({ issued: database.oauthAccessToken.length }));
  const token = request.headers.authorization?.slice("Bearer ".length);
  response.writeHead((await isActive(token)) ? 200 : 401).end();
}).listen(port, "127.0.0.1");
