/** Every row of docs/clients.md is measured: the programs of examples/ run, and what they did is counted. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { startFaultProxy } from "../../testkit/fault-proxy.ts";
import { plainEnvironment, startProgram } from "../../testkit/run-program.ts";
import { stageProxy } from "../../testkit/stage.ts";
import { type Client, clients } from "./clients.ts";

const calls = 100;
const slowlyMs = 120_000;
const page = readFileSync("docs/clients.md", "utf8");

/** Runs the program; what it has printed, a line for each call. */
async function run(client: Client, env: Record<string, string>, args: readonly string[] = []) {
  const [program, ...own] = client.command();
  const started = startProgram(program, [...args, ...own], plainEnvironment(env));
  const code = await started.ended;
  return { code, lines: started.stdout().trim().split("\n"), stderr: started.stderr() };
}

/** Calls the URL with a proxy set, and tells which way the call went. */
async function goWithProxy(client: Client, baseUrl: string, proxyUrl: string, noProxy = "") {
  const proxy = await startFaultProxy(proxyUrl);
  const { env, args } = client.proxySettings(proxy.port);
  const result = await run(client, { ...env, BASE_URL: baseUrl, NO_PROXY: noProxy, no_proxy: noProxy }, args);
  return { ...result, connections: proxy.connections };
}

const words = { through: "goes through it", past: "ignores it", tunnel: "tunnels (405)" } as const;

/** As the page's table says it. */
function describeRow({ name, connections, withProxy, loopbackWithProxy }: Client): string {
  return `| ${name} | ${connections} | ${words[withProxy]} | ${words[loopbackWithProxy]} |`;
}

it("has a row for each client that is run, and no other", () => {
  const rows = page.split("\n").filter((line) => /^\| [^|]+ \| \d+ \|/.test(line));
  expect(rows).toEqual(clients.map(describeRow));
});

describe.each(clients)("$name", (client) => {
  const promise = (text: string) => (client.isThere ? text : `NOT TRIED, it is not installed: ${text}`);

  it.runIf(client.isThere)(
    promise("creates 100 orders by the base URL, over as many connections as the page says"),
    async () => {
      const { url, simulator } = await stageProxy();
      const front = await startFaultProxy(url);
      const { code, lines, stderr } = await run(client, {
        BASE_URL: `http://127.0.0.1:${front.port}`,
        COUNT: String(calls),
      });
      expect(stderr).toBe("");
      expect(code).toBe(0);
      expect(lines).toEqual(Array.from({ length: calls }, () => "200 answered"));
      expect(simulator.counts()).toMatchObject({ apiRequests: calls, accepted: calls });
      // A pool may open its second connection or reuse the first, by a hair.
      expect(front.connections).toBeLessThanOrEqual(client.connections);
      expect(front.connections).toBeGreaterThanOrEqual(client.connections / 2);
    },
    slowlyMs,
  );

  it.runIf(client.isThere)(
    promise("goes, with a proxy set, to an http:// URL the way that the page says"),
    async () => {
      // The name leads nowhere, so only Countersign can answer: that it cannot reach the service.
      const { url } = await stageProxy({ baseUrl: "https://api.invalid/json-api" });
      const { connections, lines } = await goWithProxy(client, "http://api.invalid/json-api", url);
      expect(connections > 0).toBe(client.withProxy !== "past");
      expect(lines.includes("502 not_sent")).toBe(client.withProxy === "through");
    },
    slowlyMs,
  );

  it.runIf(client.isThere)(
    promise("goes, with a proxy set, to a loopback URL the way that the page says; NO_PROXY keeps it away"),
    async () => {
      const { url } = await stageProxy();
      const { connections, lines } = await goWithProxy(client, url, url);
      const ways = { through: ["403 not_sent"], past: ["200 answered"], tunnel: [""] };
      expect(lines).toEqual(ways[client.loopbackWithProxy]);
      expect(connections > 0).toBe(client.loopbackWithProxy !== "past");
      const kept = await goWithProxy(client, url, url, "localhost,127.0.0.1");
      expect(kept).toMatchObject({ connections: 0, lines: ["200 answered"] });
    },
    slowlyMs,
  );
});
