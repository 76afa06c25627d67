/** The clients behave as docs/clients.md says (`npm run clients` writes its rows). */
import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { startFaultProxy } from "../../testkit/fault-proxy.ts";
import { freePort } from "../../testkit/free-port.ts";
import { startRawUpstream } from "../../testkit/raw-upstream.ts";
import { nameFor } from "../../testkit/run-program.ts";
import { stage } from "../../testkit/stage.ts";
import { type Client, clients } from "./clients.ts";
import { findBehaviour, runClient, runWithProxy, type Variant, variantsOf } from "./measures.ts";
import { behaviour, type Row, readRows, writeRows } from "./table.ts";
import { findDoubles } from "./through-countersign.ts";

const calls = 100;
const isWriting = process.env["COUNTERSIGN_CLIENTS"] === "write";
/** `npm run clients` measures each client that this machine has; CI only our programs of examples/, since a library of one version stays as it is. */
const runsAll = isWriting || process.env["COUNTERSIGN_CLIENTS"] === "check";
const onPage = readRows(behaviour);
const measured = new Map<string, Row>();

afterAll(() => {
  if (isWriting) writeRows(behaviour, clients, measured);
});

it.skipIf(isWriting)("the page has a row for each client, and no other", () => {
  const names = clients.map(({ name }) => name);
  expect([...onPage.keys()]).toEqual(names);
});

it("the page has no example that sends an order twice, except after a 421, which says that the server has done nothing", () => {
  const examples = clients.filter(({ setting }) => setting?.isExample);
  const again = examples.map(({ name }) => onPage.get(name)?.againSet ?? "never");
  expect(again.filter((when) => when !== "never" && when !== "after 421")).toEqual([]);
});

it("each setting that the page names stands in a program", () => {
  const missing = clients.flatMap(({ setting }) => {
    const source = setting && readFileSync(setting.source, "utf8");
    const codes = [...(setting?.text.matchAll(/`([^`]+)`/g) ?? [])].map(([, code = ""]) => code);
    return codes.filter((code) => !source?.includes(code));
  });
  expect(missing).toEqual([]);
});

/** The names of the tests say which programs this machine lacks; scripts/client-programs.sh fetches those that it can. */
for (const client of clients.filter(({ setting }) => runsAll || setting?.isExample)) {
  const { plain, set } = variantsOf(client);
  const example = set?.isExample ? set : undefined;
  const shown = example ?? plain;
  const name = nameFor(shown !== undefined, "it", client.name);
  describe.runIf(shown !== undefined)(name, () => {
    if (shown !== undefined) measure(client, shown);
    if (plain !== undefined && runsAll) measurePlain(client, plain);
    if (set !== undefined) measureSetting(client, set);
    if (runsAll) measureDoubles(client, plain, set);
    if (example !== undefined) checkExample(example);
  });
}

function measure(client: Client, variant: Variant): void {
  const { isExample } = variant;

  it("creates 100 orders by the base URL, over as many connections as the page says", async () => {
    const { url, simulator } = await stage();
    const front = await startFaultProxy(url);
    const { code, lines, stderr } = await runClient(variant, {
      BASE_URL: `http://127.0.0.1:${front.port}`,
      COUNT: String(calls),
    });
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(lines).toEqual(Array.from({ length: calls }, () => (isExample ? "200 answered" : "200")));
    expect(simulator.counts()).toMatchObject({ apiRequests: calls, accepted: calls });
    const amounts = simulator.seen.apiRequests.map(({ body }) => JSON.parse(body.toString("utf8")).order_amount);
    expect(new Set(amounts)).toEqual(new Set([isExample ? "10.00" : "10.10"]));
    // A slight difference in time decides whether a pool opens its second connection or reuses the first.
    const connections = isWriting ? front.connections : Number(onPage.get(client.name)?.connections);
    expect(front.connections).toBeLessThanOrEqual(connections);
    expect(front.connections).toBeGreaterThanOrEqual(connections / 2);
    expectOnPage(client, { connections: String(connections) });
  });

  it("goes through a proxy as the page says; NO_PROXY keeps an example away from it", async () => {
    // The host has no address, so only Countersign can answer: 502, because it cannot reach the service.
    const away = await stage({ baseUrl: "https://api.invalid/json-api" });
    const { connections, code, lines, stderr } = await runWithProxy(variant, "http://api.invalid/json-api", away.url);
    const isThrough = lines[0]?.startsWith("502") === true;
    if (isThrough && isExample) expect({ code, stderr }).toEqual({ code: 75, stderr: notSent });
    const { url } = await stage();
    const own = await runWithProxy(variant, url, url);
    const ways = new Map([
      ["403", "through"],
      ["200", "past"],
    ]);
    const loopback = ways.get(own.lines[0]?.split(" ")[0] ?? "") ?? (own.connections > 0 ? "tunnel" : "fails");
    if (loopback !== "fails") expect(own.connections > 0).toBe(loopback !== "past");
    const others = isThrough ? "through" : connections > 0 ? "tunnel" : "past";
    expectOnPage(client, { proxied: describeProxied(others, loopback) });
    if (!isExample) return;
    const kept = await runWithProxy(variant, url, url, "localhost,127.0.0.1");
    expect(kept).toMatchObject({ connections: 0, lines: ["200 answered"] });
  });
}

const notSent = "order-1 was not sent: it may be sent again\n";

function describeProxied(others: string, loopback: string): string {
  if (loopback === "fails") return "fails";
  if (others === "past" && loopback === "past") return "no";
  const how = others === "tunnel" || loopback === "tunnel" ? "by a tunnel (405)" : "yes";
  if (others === loopback) return how;
  return loopback === "past" ? `${how}, not for loopback` : `${how}, only for loopback`;
}

function measurePlain(client: Client, plain: Variant): void {
  it("sends an order that the server has read a second time only in the cases that the page names", async () => {
    const { sendsAgain, traits } = await findBehaviour(plain);
    expectOnPage(client, { again: sendsAgain });
    const keyed = (await findBehaviour(plain, "Idempotency-Key")).sendsAgain;
    const changed = keyed === sendsAgain ? [] : [`with \`Idempotency-Key\`: ${keyed}`];
    expectOnPage(client, { also: [...traits, ...changed].join("; ") });
  });
}

function measureSetting(client: Client, set: Variant): void {
  it("with the setting, sends an order a second time only in the cases that the page names", async () => {
    const { sendsAgain } = await findBehaviour(set);
    expectOnPage(client, { setting: client.setting?.text, againSet: sendsAgain });
  });
}

function measureDoubles(client: Client, plain: Variant | undefined, set: Variant | undefined): void {
  it("through Countersign, its order arrives twice only in the cases that the page names", async () => {
    const found = plain && (await findDoubles(plain));
    const foundSet = set && (await findDoubles(set));
    const isSame = foundSet === undefined || foundSet === (found ?? foundSet);
    expectOnPage(client, { twice: isSame ? (found ?? foundSet) : `${found}; with the setting ${foundSet}` });
  }, 240_000);
}

function checkExample(example: Variant): void {
  it("takes a refused connection for no answer", async () => {
    const { code, lines, stderr } = await runClient(example, { BASE_URL: `http://127.0.0.1:${await freePort()}` });
    expect({ code, lines }).toEqual({ code: 1, lines: [] });
    expect(stderr).toMatch(/order-1: no answer/);
    expect(stderr).toMatch(/order-1 may exist: look for it before you send it again\n$/);
  });

  it("says after a 504 that the order may exist, and goes no further", async () => {
    const service = await startRawUpstream();
    const timeouts = { requestMs: 400, connectMs: 300, tokenMs: 300 };
    const { url } = await stage({ baseUrl: `${service.url}/json-api`, config: { timeouts } });
    const { code, lines, stderr } = await runClient(example, { BASE_URL: url, COUNT: "2" });
    expect({ code, lines }).toEqual({ code: 1, lines: ["504 unknown"] });
    expect(stderr).toBe("order-1 may exist: look for it before you send it again\n");
    expect(service.requests).toHaveLength(1);
  });
}

/** Compares measured cells with the page; or keeps them for the page, if it is being written. */
function expectOnPage({ name, version }: Client, cells: Row): void {
  if (!isWriting) expect(onPage.get(name)).toMatchObject(cells);
  measured.set(name, { ...measured.get(name), version, ...cells });
}
