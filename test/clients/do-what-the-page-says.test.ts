/** The programs of examples/ behave as docs/clients.md says (`npm run clients` writes its rows). So does Java, which asks for h2c. */
import { afterAll, describe, expect, it } from "vitest";
import { startFaultProxy } from "../../testkit/fault-proxy.ts";
import { freePort } from "../../testkit/free-port.ts";
import { startRawUpstream } from "../../testkit/raw-upstream.ts";
import { nameFor } from "../../testkit/run-program.ts";
import { stage } from "../../testkit/stage.ts";
import { type Client, clients } from "./clients.ts";
import { findRepeats, runClient, runWithProxy } from "./measures.ts";
import { comparisonColumns, exampleColumns, type Row, readRows, type Table, writeRows } from "./table.ts";

const calls = 100;
const isWriting = process.env["COUNTERSIGN_CLIENTS"] === "write";
const namesOf = (isExample: boolean) =>
  clients.filter((client) => client.isExample === isExample).map(({ name }) => name);
const examples: Table = { name: "examples", columns: exampleColumns, clients: namesOf(true) };
const asTheyAre: Table = { name: "as they are", columns: comparisonColumns, clients: namesOf(false) };
const onPage = new Map([...readRows(examples), ...readRows(asTheyAre)]);

const measured = new Map<string, Row>();

afterAll(() => {
  if (!isWriting) return;
  for (const table of [examples, asTheyAre]) {
    const whole = [...measured].filter(([, row]) => table.columns.every((column) => row[column] !== undefined));
    writeRows(table, new Map(whole));
  }
});

it.skipIf(isWriting)("the page has a row for each client that is run, and no other", () => {
  expect([...onPage.keys()]).toEqual([...examples.clients, ...asTheyAre.clients]);
});

it("the page has no example that sends an order twice, except after a 421, which says that the server has done nothing", () => {
  const again = examples.clients.map((name) => onPage.get(name)?.sendsAgain ?? "never");
  expect(again.filter((when) => when !== "never" && when !== "after 421")).toEqual([]);
});

/** The names of the tests say which programs this machine lacks; scripts/client-programs.sh fetches those that it can. */
for (const client of clients) {
  const isThere = client.version !== undefined;
  const name = nameFor(isThere, "it", client.name);
  describe.runIf(isThere)(name, () => measure(client));
}

function measure(client: Client): void {
  const ofExample = it.runIf(client.isExample);

  it("creates 100 orders by the base URL, over as many connections as the page says", async () => {
    // One of the clients sends this header, which is refused otherwise.
    const { url, simulator } = await stage({ environment: { forwardHeaders: ["idempotency-key"] } });
    const front = await startFaultProxy(url);
    const { code, lines, stderr } = await runClient(client, {
      BASE_URL: `http://127.0.0.1:${front.port}`,
      COUNT: String(calls),
    });
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(lines).toEqual(Array.from({ length: calls }, () => "200 answered"));
    expect(simulator.counts()).toMatchObject({ apiRequests: calls, accepted: calls });
    const amounts = simulator.seen.apiRequests.map(({ body }) => JSON.parse(body.toString("utf8")).order_amount);
    expect(new Set(amounts)).toEqual(new Set(["10.00"]));
    // A slight difference in time decides whether a pool opens its second connection or reuses the first.
    const connections = isWriting ? front.connections : Number(onPage.get(client.name)?.connections);
    expect(front.connections).toBeLessThanOrEqual(connections);
    expect(front.connections).toBeGreaterThanOrEqual(connections / 2);
    expectOnPage(client, { connections: String(connections) });
  });

  it("sends an order that the server has read a second time only in the cases that the page names", async () =>
    expectOnPage(client, { sendsAgain: await findRepeats(client) }));

  ofExample("takes a refused connection for no answer", async () => {
    const { code, lines, stderr } = await runClient(client, { BASE_URL: `http://127.0.0.1:${await freePort()}` });
    expect({ code, lines }).toEqual({ code: 1, lines: [] });
    expect(stderr).toMatch(/order-1: no answer/);
    expect(stderr).toMatch(/order-1 may exist: look for it before you send it again\n$/);
  });

  ofExample("says after a 504 that the order may exist, and goes no further", async () => {
    const service = await startRawUpstream();
    const timeouts = { requestMs: 400, connectMs: 300, tokenMs: 300 };
    const { url } = await stage({ baseUrl: `${service.url}/json-api`, config: { timeouts } });
    const { code, lines, stderr } = await runClient(client, { BASE_URL: url, COUNT: "2" });
    expect({ code, lines }).toEqual({ code: 1, lines: ["504 unknown"] });
    expect(stderr).toBe("order-1 may exist: look for it before you send it again\n");
    expect(service.requests).toHaveLength(1);
  });

  ofExample("goes, with a proxy set, to an http:// URL the way that the page says", async () => {
    // The host has no address, so only Countersign can answer: 502, because it cannot reach the service.
    const { url } = await stage({ baseUrl: "https://api.invalid/json-api" });
    const { connections, code, lines, stderr } = await runWithProxy(client, "http://api.invalid/json-api", url);
    const isThrough = lines.includes("502 not_sent");
    if (isThrough) {
      expect(stderr).toBe("order-1 was not sent: it may be sent again\n");
      expect(code).toBe(75);
    }
    const tunnelled = connections > 0 ? "tunnels (405)" : "ignores it";
    expectOnPage(client, { withProxy: isThrough ? "goes through it" : tunnelled });
  });

  ofExample(
    "goes, with a proxy set, to a loopback URL the way that the page says; NO_PROXY keeps it away",
    async () => {
      const { url } = await stage();
      const { connections, lines } = await runWithProxy(client, url, url);
      const ways = new Map([
        ["403 not_sent", "goes through it"],
        ["200 answered", "ignores it"],
      ]);
      const loopbackWithProxy = ways.get(lines[0] ?? "") ?? "tunnels (405)";
      expect(connections > 0).toBe(loopbackWithProxy !== "ignores it");
      expectOnPage(client, { loopbackWithProxy });
      const kept = await runWithProxy(client, url, url, "localhost,127.0.0.1");
      expect(kept).toMatchObject({ connections: 0, lines: ["200 answered"] });
    },
  );
}

/** Compares measured cells with the page; or keeps them for the page, if it is being written. */
function expectOnPage({ name, version }: Client, cells: Row): void {
  if (!isWriting) expect(onPage.get(name)).toMatchObject(cells);
  measured.set(name, { ...measured.get(name), version, ...cells });
}
