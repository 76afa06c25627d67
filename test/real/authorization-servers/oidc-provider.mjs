/** oidc-provider, which this project has for its tests: node oidc-provider.mjs PORT LIFE_SECONDS. */
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [port, lifeSeconds] = process.argv.slice(2).map(Number);
let issued = 0;
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "countersign",
      client_secret: process.env.SECRET,
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: "client_secret_basic",
    },
  ],
  features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
  ttl: { ClientCredentials: lifeSeconds },
});
provider.on("grant.success", () => issued++);
const serve = provider.callback();

createServer(async (request, response) => {
  if (request.url === "/token") return serve(request, response);
  if (request.url === "/issued") return response.end(JSON.stringify({ issued }));
  const token = await provider.ClientCredentials.find(request.headers.authorization?.slice("Bearer ".length) ?? "");
  response.writeHead(token?.isValid ? 200 : 401).end();
}).listen(port, "127.0.0.1");
