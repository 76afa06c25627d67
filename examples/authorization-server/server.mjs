// An authorization server (oidc-provider, http://localhost:7422) and a service that accepts its tokens (http://127.0.0.1:7421).
// From the root of the repository:
//   node examples/authorization-server/server.mjs
//   node dist/main.js serve --config examples/authorization-server/countersign.yaml
//   curl -H 'Content-Type: application/json' -d '{"order_amount":10,"order_currency":"EUR"}' http://127.0.0.1:7411/create_order
// With -H 'Countersign-Site: S1000000002' the order has a token of another client, proved by a platform's token; this program plays the platform too.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRemoteJWKSet, jwtVerify, SignJWT } from "jose";
import Provider from "oidc-provider";

const [folder = import.meta.dirname, apiPort = "7421", loginPort = "7422"] = process.argv.slice(2);
const api = "https://orders.example";
const issuer = `http://localhost:${loginPort}`;

const [own, platform] = [1, 2].map(() => generateKeyPairSync("ec", { namedCurve: "P-256" }));
const writeSecret = (name, content) => writeFileSync(`${folder}/${name}`, content, { mode: 0o600 });
writeSecret("client-key.pem", own.privateKey.export({ type: "pkcs8", format: "pem" }));

// The platform renews its token long before it expires, as the kubelet does; this server accepts each token only once.
async function renew() {
  const token = new SignJWT({ iss: "pod", sub: "pod", aud: issuer, jti: randomUUID() }).setProtectedHeader({
    alg: "ES256",
  });
  writeSecret("platform-token", await token.setIssuedAt().setExpirationTime("10m").sign(platform.privateKey));
}
await renew();
setInterval(renew, 60_000).unref();

const client = (id, { publicKey }) => ({
  client_id: id,
  token_endpoint_auth_method: "private_key_jwt",
  jwks: { keys: [publicKey.export({ format: "jwk" })] },
  grant_types: ["client_credentials"],
  response_types: [],
  redirect_uris: [],
});

const provider = new Provider(issuer, {
  clients: [client("countersign", own), client("pod", platform)],
  scopes: ["orders"],
  clientAuthMethods: ["private_key_jwt"],
  enabledJWA: { clientAuthSigningAlgValues: ["ES256"] },
  ttl: { ClientCredentials: 600 },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({ scope: "orders", audience: api, accessTokenFormat: "jwt" }),
    },
  },
});
provider.listen(Number(loginPort), "localhost");

const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
const service = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
  try {
    const { payload } = await jwtVerify(token, keys, { issuer, audience: api });
    const answer = { client: payload.client_id, scope: payload.scope, order: JSON.parse(Buffer.concat(chunks)) };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  } catch {
    response.writeHead(401).end();
  }
});
service.listen(Number(apiPort), "127.0.0.1", () => process.stdout.write("ready\n"));
