/** Envoy in front of the service, where it sends its own 5xx, and in front of Countersign, where its retries could repeat an order. */
import { once } from "node:events";
import { connect } from "node:http2";
import { join } from "node:path";
import { Pool } from "undici";
import { expect, it, onTestFinished } from "vitest";
import type { Fault } from "../../simulator/src/service/fault.ts";
import { type Simulator, startSimulator } from "../../simulator/src/service/simulator.ts";
import { call, order } from "../../testkit/call.ts";
import { canaries } from "../../testkit/config-folder.ts";
import { ConfigWriter, sandboxConfig } from "../../testkit/config-writer.ts";
import { scrape } from "../../testkit/exposition.ts";
import { freePort } from "../../testkit/free-port.ts";
import { startProgram, startServe, versionOf } from "../../testkit/run-program.ts";
import { sendOrder, type Told } from "../../testkit/send-order.ts";
import { tools, tryWith } from "./try-with.ts";

const envoy = join(tools, "envoy-1.40.0/bin/envoy");
const site = "S1000000003";
const sites = [{ identifier: site, keys: [{ identifier: "K2000000001", secret: canaries.key }] }];
const callers = 8;
/** Orders under way when Envoy ends. */
const underWay = 3;

/** A fault between Envoy and the service, Envoy's status and response flag for it, and whether the service received the order. */
const failures: readonly (readonly [operation: string, status: number, flag: string, sent: 0 | 1, fault?: Fault])[] = [
  ["without_hosts", 503, "UH", 0],
  ["overflowing", 503, "UO", 0],
  ["refused", 503, "UF", 0],
  ["create_order", 503, "UC", 1, { host: "api", kind: "reset", when: "after_reading" }],
  ["create_order", 504, "UT", 1, { host: "api", kind: "hang" }],
  ["create_order", 502, "UPE", 1, { host: "api", kind: "raw", bytes: "nonsense\r\n\r\n" }],
];

tryWith("Envoy", versionOf(/version: \w+\/([\d.]+)/, envoy, "--version"), () => {
  it("in front of the service, its own answers 502, 503 and 504 are `unknown`, and no order is sent twice", async () => {
    const { countersign, simulator, gateway } = await stageGateway();
    const send = (reference: string, operation: string) =>
      call(countersign.url, { ...order, order_reference: reference }, { path: `/${operation}` });
    for (const [turn, [operation, status, flag, sent, fault]] of failures.entries()) {
      if (fault !== undefined) simulator.faults.add(fault);
      const answer = await send(`order-${turn}`, operation);
      expect([answer.status, answer.headers["countersign-outcome"]]).toEqual([status, "unknown"]);
      expect(answer.headers).not.toHaveProperty("countersign-error");
      expect(answer.headers["x-envoy-overloaded"]).toBe(flag === "UO" ? "true" : undefined);
      expect(sentOf(simulator, `order-${turn}`)).toBe(sent);
    }
    simulator.faults.add({ host: "api", kind: "reset", when: "mid_answer" });
    await expect(send("order-cut", "create_order")).rejects.toThrow();
    expect(sentOf(simulator, "order-cut")).toBe(1);
    const flags = [...failures.map(([, , flag]) => flag), "UPE"];
    await expect.poll(() => gateway.requests().map((each) => each.flags)).toEqual(flags);
    const metrics = await scrape(countersign.adminUrl);
    expect(metrics.sum("countersign_requests_total", { outcome: "unknown" })).toBe(flags.length);
    expect(metrics.sum("countersign_requests_total")).toBe(flags.length);
  });

  it.each([
    [
      "while it drains under load, every order that reaches the service is answered",
      "drain",
      { kind: "delay", delayMs: 500 },
    ],
    ["when it is killed under load, open orders are `unknown`", "kill", { kind: "hang" }],
  ] as const)("%s, no order arrives twice, and no `not_sent` order arrives", async (_, end, fault) => {
    const { countersign, simulator, gateway } = await stageGateway();
    const orders = orderUntilNotSent(countersign.url);
    await simulator.seen.whenApiRequests(200);
    await simulator.faults.add({ host: "api", times: underWay, ...fault }).whenPlayed(underWay);
    if (end === "drain") await call(gateway.adminUrl, "", { path: "/drain_listeners?graceful" });
    else gateway.child.kill("SIGKILL");
    const counts: Record<string, number> = {};
    for (const [reference, told] of await orders) {
      const outcome = "outcome" in told ? told.outcome : told.kind;
      counts[outcome] = (counts[outcome] ?? 0) + 1;
      const sent = sentOf(simulator, reference);
      if (outcome !== "unknown") expect([reference, sent]).toEqual([reference, outcome === "answered" ? 1 : 0]);
      // An order is lost if it was written to a connection that Envoy had not accepted yet when it closed its listener.
      else expect(sent).toBeLessThanOrEqual(end === "drain" ? 0 : 1);
    }
    const { answered, unknown = 0, not_sent: notSent, ...others } = counts;
    expect([notSent, others]).toEqual([callers, {}]);
    expect(unknown).toBeGreaterThanOrEqual(end === "drain" ? 0 : underWay);
    expect(unknown).toBeLessThanOrEqual(2 * callers);
    const metrics = await scrape(countersign.adminUrl);
    const counted = ["answered", "unknown"].map((outcome) => metrics.sum("countersign_requests_total", { outcome }));
    expect(counted).toEqual([answered, unknown]);
  });

  it("in front of Countersign, it accepts HTTP/2, and the service gets its `x-request-id`, but no `x-envoy-` or `x-forwarded-` header", async () => {
    const { simulator, sidecar } = await stageSidecar();
    const send = openSession(sidecar.url);
    const references = Array.from({ length: 60 }, (_, n) => `order-${n}`);
    for (const headers of await Promise.all(references.map(send))) {
      expect([headers[":status"], headers["countersign-outcome"]]).toEqual([200, "answered"]);
    }
    expect(references.map((reference) => sentOf(simulator, reference))).toEqual(references.map(() => 1));
    await expect.poll(() => sidecar.requests()).toHaveLength(references.length);
    expect(new Set(sidecar.requests().map(({ protocol }) => protocol))).toEqual(new Set(["HTTP/2"]));
    const raw = simulator.seen.apiRequests.flatMap(({ rawHeaders }) => rawHeaders);
    const named = raw.flatMap((name, at) => (at % 2 === 0 && name.startsWith("x-") ? [[name, raw[at + 1]]] : []));
    const expected = sidecar.requests().map(({ requestId }) => ["x-request-id", requestId]);
    expect(named.toSorted()).toEqual(expected.toSorted());
    simulator.faults.add({ host: "api", kind: "reset", when: "mid_answer" });
    await expect(send("order-cut")).rejects.toThrow(/NGHTTP2/);
  });

  it("with `retry_on: connect-failure,reset` it repeats no order that Countersign has answered", async () => {
    const { simulator, sidecar } = await stageSidecar("connect-failure,reset");
    const send = openSession(sidecar.url);
    const faults = [
      { kind: "reset", when: "after_reading" },
      { kind: "answer", status: 503 },
    ] as const;
    for (const [turn, fault] of faults.entries()) {
      simulator.faults.add({ host: "api", ...fault });
      expect(await send(`order-${turn}`)).toMatchObject({ "countersign-outcome": "unknown" });
      expect(sentOf(simulator, `order-${turn}`)).toBe(1);
    }
    await simulator.stopApi();
    expect(await send("order-refused")).toMatchObject({ ":status": 502, "countersign-outcome": "not_sent" });
    await expect.poll(() => sidecar.requests().map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
  });

  it.each([
    ["connect-failure", 1, 503],
    ["connect-failure,reset", 2, 200],
  ])("with `retry_on: %s`, an order is sent %i× if Countersign is killed meanwhile", async (retryOn, sent, status) => {
    const { simulator, sidecar, countersigns } = await stageSidecar(retryOn);
    const send = openSession(sidecar.url);
    const hanging = simulator.faults.add({ host: "api", kind: "hang" });
    const answer = send("order-0");
    await hanging.whenPlayed(1);
    for (const { adminUrl, child } of countersigns) {
      if ((await scrape(adminUrl)).sum("countersign_requests_in_flight") > 0) child.kill("SIGKILL");
    }
    expect(await answer).toMatchObject({ ":status": status });
    expect(sentOf(simulator, "order-0")).toBe(sent);
    // The dead one still gets its turns: the connection fails, and Envoy tries the other one.
    for (const turn of [1, 2, 3]) expect(await send(`order-${turn}`)).toMatchObject({ ":status": 200 });
  });
});

/** Lines of Envoy's access log, whose format is set below. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into any log line
function readLines(text: string): any[] {
  const lines = text.split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

/** How many times the service received the order. */
function sentOf({ seen }: Simulator, reference: string): number {
  return seen.apiRequests.filter(({ body }) => body.includes(`"${reference}"`)).length;
}

/** The answers that callers got for their orders, by reference; each caller stops at its first order that was not sent. */
async function orderUntilNotSent(url: string): Promise<ReadonlyMap<string, Told>> {
  const pool = new Pool(url);
  onTestFinished(() => pool.destroy());
  const all = new Map<string, Told>();
  const turns = Array.from({ length: callers }, async (_, caller) => {
    for (let turn = 0, isSent = true; isSent; turn += 1) {
      const reference = `order-${caller}-${turn}`;
      const { told } = await sendOrder(pool, { reference, site });
      all.set(reference, told);
      isSent = told.kind !== "failed" || told.outcome !== "not_sent";
    }
  });
  await Promise.all(turns);
  return all;
}

/** Sends orders over one HTTP/2 connection in plain text. */
function openSession(url: string) {
  const session = connect(url);
  onTestFinished(() => session.destroy());
  return async (reference: string): Promise<Readonly<Record<string, unknown>>> => {
    const stream = session.request({ ":method": "POST", ":path": "/create_order", "content-type": "application/json" });
    stream.end(JSON.stringify({ ...order, order_reference: reference }));
    const [headers] = await once(stream, "response");
    for await (const _ of stream);
    return headers;
  };
}

/** Countersign, then Envoy, then the service. */
async function stageGateway() {
  const simulator = await startService();
  const gateway = await startEnvoy({
    service: [Number(new URL(simulator.apiUrl).port)],
    without_hosts: [],
    overflowing: [await freePort()],
    refused: [await freePort()],
  });
  return { simulator, gateway, countersign: await startCountersign(simulator, `${gateway.url}/json-api`) };
}

/** Envoy, then two processes of Countersign, then the service. */
async function stageSidecar(retryOn = "") {
  const simulator = await startService();
  const countersigns = [await startCountersign(simulator), await startCountersign(simulator)];
  const sidecar = await startEnvoy({ service: countersigns.map(({ port }) => port) }, retryOn);
  return { simulator, countersigns, sidecar };
}

async function startService(): Promise<Simulator> {
  const simulator = await startSimulator({ sites });
  onTestFinished(() => simulator.stop());
  return simulator;
}

function newFolder(): ConfigWriter {
  const folder = new ConfigWriter("envoy");
  onTestFinished(() => folder.remove());
  return folder;
}

async function startCountersign({ apiUrl, loginUrl: authUrl }: Simulator, baseUrl = apiUrl) {
  const folder = newFolder();
  const port = await freePort();
  const operations = [...new Set(failures.map(([operation]) => operation))];
  const environment = { baseUrl, authUrl, operations, sites: folder.sites(sites) };
  const file = folder.config("countersign.yaml", sandboxConfig([`127.0.0.1:${port}`], environment));
  return { ...(await startServe(file)), port, url: `http://127.0.0.1:${port}` };
}

/** Envoy with clusters of these ports. The path `/json-api/NAME` leads to the cluster of that name, any other to `service`. */
async function startEnvoy(clusters: Readonly<Record<string, readonly number[]>>, retryOn = "") {
  const [port, adminPort] = [await freePort(), await freePort()];
  const address = (at: number) => `address: { socket_address: { address: 127.0.0.1, port_value: ${at} } }`;
  const type = (name: string) => `"@type": type.googleapis.com/envoy.extensions.${name}`;
  const names = Object.keys(clusters).filter((name) => name !== "service");
  const retries = retryOn === "" ? "" : `, retry_policy: { retry_on: "${retryOn}", num_retries: 3 }`;
  const describeCluster = (name: string, ports: readonly number[]) => `
    - name: ${name}
      circuit_breakers: { thresholds: [{ max_pending_requests: ${name === "overflowing" ? 0 : 1_024} }] }
      load_assignment:
        cluster_name: ${name}
        endpoints: [{ lb_endpoints: [${ports.map((each) => `{ endpoint: { ${address(each)} } }`)}] }]`;
  const yaml = `
admin: { ${address(adminPort)} }
static_resources:
  clusters: ${Object.entries(clusters)
    .map(([name, ports]) => describeCluster(name, ports))
    .join("")}
  listeners:
    - ${address(port)}
      filter_chains:
        - filters:
            - name: manager
              typed_config:
                ${type("filters.network.http_connection_manager.v3.HttpConnectionManager")}
                stat_prefix: in
                http_filters: [{ name: router, typed_config: { ${type("filters.http.router.v3.Router")} } }]
                route_config:
                  virtual_hosts:
                    - name: all
                      domains: ["*"]
                      routes:${names
                        .map(
                          (name) => `
                        - { match: { path: /json-api/${name} }, route: { cluster: ${name} } }`,
                        )
                        .join("")}
                        - { match: { prefix: / }, route: { cluster: service, timeout: 2s${retries} } }
                access_log:
                  - name: stdout
                    typed_config:
                      ${type("access_loggers.stream.v3.StdoutAccessLog")}
                      log_format:
                        json_format:
                          flags: "%RESPONSE_FLAGS%"
                          protocol: "%PROTOCOL%"
                          requestId: "%REQ(X-REQUEST-ID)%"
                          attempts: "%UPSTREAM_REQUEST_ATTEMPT_COUNT%"
`;
  const options =
    "--concurrency 1 --disable-hot-restart --log-level error --file-flush-interval-msec 50 --drain-time-s 1 --drain-strategy immediate";
  const program = startProgram(envoy, ["-c", newFolder().write("envoy.yaml", yaml), ...options.split(" ")]);
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  const ask = () => call(adminUrl, "", { method: "GET", path: "/ready" }).then(({ status }) => status, String);
  await expect.poll(ask).toBe(200);
  const requests = () => readLines(program.stdout());
  return { ...program, url: `http://127.0.0.1:${port}`, adminUrl, requests };
}
