/** Authorization servers of others, each in a program of test/real/authorization-servers, whose `/guard` is the library's own. */
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { ConfigWriter } from "../../testkit/config-writer.ts";
import { scrape } from "../../testkit/exposition.ts";
import { freePort } from "../../testkit/free-port.ts";
import { listen } from "../../testkit/listen.ts";
import { type Child, Children } from "../../testkit/processes.ts";
import { startRedis } from "../../testkit/redis.ts";
import { plainEnvironment } from "../../testkit/run-program.ts";
import { secret, serve, site, startOrders } from "./orders.ts";
import { tools, tryWith } from "./try-with.ts";

const programs = "test/real/authorization-servers";
const lifeSeconds = 20;
const lives = 3;

/** `clientAuth`: the form of HTTP Basic that it reads. */
const servers = [
  { name: "@node-oauth/oauth2-server", version: "5.3.0", program: "node-oauth.mjs", clientAuth: "basic_raw" },
  { name: "better-auth", version: "1.7.5", program: "better-auth.mjs", clientAuth: "basic", path: "/oauth2/token" },
  { name: "Authlib", version: "1.9.10", program: "authlib.py", clientAuth: "basic" },
  {
    name: "django-oauth-toolkit",
    version: "3.4.1",
    program: "django-oauth-toolkit.py",
    clientAuth: "basic",
    path: "/o/token/",
  },
  { name: "go-oauth2", version: "4.5.4", program: "go-oauth2", clientAuth: "basic_raw" },
  { name: "oidc-provider", version: "9.13.3", program: "oidc-provider.mjs", clientAuth: "basic" },
  {
    name: "Spring Authorization Server",
    version: "7.0.6",
    program: "spring.java",
    clientAuth: "basic",
    path: "/oauth2/token",
  },
  { name: "zitadel/oidc", version: "3.52.0", program: "zitadel-oidc", clientAuth: "basic" },
] satisfies readonly (Tried & { readonly name: string })[];

for (const tried of servers) {
  tryWith(tried.name, existsSync(folderOf(tried)) ? tried.version : undefined, () => {
    it(`two replicas with ${tried.clientAuth}: through three lives of ${lifeSeconds} s, a restart that forgets all tokens and a changed secret, each order is created once or its caller knows, and the server counts the tokens that the metrics count`, async () => {
      const server = await AuthorizationServer.start(tried);
      const { url, executed, tokens } = await startGuardedService(server);
      const folder = new ConfigWriter("authorization-server");
      onTestFinished(() => folder.remove());
      const clientSecret = folder.secret("client-secret", secret);
      const credentials = [{ name: "blue", clientId: "countersign", clientSecret }];
      const { clientAuth } = tried;
      const token = { url: server.tokenUrl, clientAuth, scope: "orders" };
      const environment = { baseUrl: url, token, sites: { [site]: { credentials } } };
      const redis = { url: (await startRedis()).url, encryptionKeys: [folder.newKey("token-key")] };
      const start = () => serve(environment, folder, { tokens: { cache: "redis" }, redis });
      const replicas = [await start(), await start()];
      const orders = startOrders(
        replicas.map((replica) => replica.url),
        20,
      );
      const goOn = async () => {
        const before = orders.count();
        await expect.poll(() => orders.count()).toBeGreaterThan(before + 20);
      };
      await expect.poll(() => tokens.size, { timeout: lives * lifeSeconds * 1_500 }).toBe(1 + lives);

      await server.restart(secret);
      await goOn();
      expect(tokens.size).toBe(2 + lives);

      const changed = `changed ${secret}`;
      await server.restart(changed);
      folder.write("client-secret", changed);
      await expect.poll(() => tokens.size).toBe(3 + lives);
      await goOn();
      await orders.stop();
      orders.expectOnlyTold(executed);

      const all = await Promise.all(replicas.map(({ adminUrl }) => scrape(adminUrl)));
      const issued = all.map((each) => each.sum("countersign_token_requests_total", { result: "issued" }));
      const counted = issued.reduce((sum, each) => sum + each, 0);
      expect({ onTheWire: tokens.size, counted }).toEqual({
        onTheWire: await server.issued(),
        counted: await server.issued(),
      });
      process.stdout.write(`${tried.name}: ${orders.count()} orders, tokens by replica ${issued}\n`);
    }, 180_000);
  });
}

interface Tried {
  readonly program: string;
  readonly version: string;
  readonly clientAuth: string;
  readonly path?: string;
}

/** Where scripts/test-real.sh has installed it. oidc-provider is a dependency of these tests. */
function folderOf({ program, version }: Tried): string {
  const name = program.replace(/\..*/, "");
  return name === "oidc-provider" ? `node_modules/${name}` : `${tools}/${name}-${version}`;
}

/** A program with one client, `countersign`. Its tokens end with the process. */
class AuthorizationServer {
  readonly #children = new Children();
  readonly #tried: Tried;
  readonly #port: number;
  #child: Child | undefined;
  /** Tokens of former processes. */
  #issuedBefore = 0;

  static async start(tried: Tried): Promise<AuthorizationServer> {
    const server = new AuthorizationServer(tried, await freePort());
    onTestFinished(() => server.#children.endAll());
    await server.#run(secret);
    return server;
  }

  private constructor(tried: Tried, port: number) {
    this.#tried = tried;
    this.#port = port;
  }

  get #origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get tokenUrl(): string {
    return `${this.#origin}${this.#tried.path ?? "/token"}`;
  }

  /** Whether the library lets a request with this header pass. django-oauth-toolkit and zitadel/oidc refuse it with 403, the others with 401. */
  async accepts(authorization = ""): Promise<boolean> {
    return (await fetch(`${this.#origin}/guard`, { headers: { authorization } })).ok;
  }

  async issued(): Promise<number> {
    const answer = (await (await fetch(`${this.#origin}/issued`)).json()) as { readonly issued: number };
    return this.#issuedBefore + answer.issued;
  }

  async restart(clientSecret: string): Promise<void> {
    this.#issuedBefore = await this.issued();
    await this.#child?.end("SIGTERM");
    await this.#run(clientSecret);
  }

  async #run(clientSecret: string): Promise<void> {
    const { program } = this.#tried;
    const folder = folderOf(this.#tried);
    const source = `${programs}/${program}`;
    const commands: Readonly<Record<string, readonly [string, ...string[]]>> = {
      mjs: [process.execPath, source],
      py: ["python3", source],
      java: ["java", "-XX:TieredStopAtLevel=1", "-cp", `${folder}/*`, source],
    };
    const [command, ...args] = commands[program.split(".")[1] ?? ""] ?? [`${folder}/${program}`];
    args.push(String(this.#port), String(lifeSeconds));
    const env = plainEnvironment({ SECRET: clientSecret, PYTHONPATH: folder, NODE_PATH: folder });
    this.#child = await this.#children.start(command, args, () => {}, { env });
    const isListening = () =>
      this.issued().then(
        () => true,
        () => false,
      );
    await expect.poll(isListening, { timeout: 60_000 }).toBe(true);
  }
}

/** The service: executes an order if the authorization server's guard accepts its token, and answers 401 otherwise. */
async function startGuardedService(server: AuthorizationServer) {
  const executed: string[] = [];
  const tokens = new Set<string>();
  const listening = createServer(async (request, response) => {
    const body = await text(request);
    const { authorization = "" } = request.headers;
    if (!(await server.accepts(authorization).catch(() => false))) return response.writeHead(401).end();
    tokens.add(authorization);
    executed.push(JSON.parse(body).order_reference);
    return response.setHeader("content-type", "application/json").end(body);
  });
  return { url: `http://127.0.0.1:${await listen(listening)}`, executed, tokens };
}
