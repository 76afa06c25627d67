/** A name whose servers do not answer fails no order of another environment, though libuv looks up two names at a time. */
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { ConfigFolder } from "../../../testkit/config-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { imageVariables } from "../../../testkit/image-options.ts";
import { canServeNames, startNameServer } from "../../../testkit/name-server.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { plainEnvironment, startProgram } from "../../../testkit/run-program.ts";

const connectMs = 500;
const site = "S1000000003";

const allServed = (count: number) => new Array(count).fill(200);

const reason = canServeNames ? "" : "NOT TRIED, port 53 and mounts are for root: ";

describe.runIf(canServeNames)(`${reason}a hanging name`, () => {
  it("that was never found before: its own orders fail in time, no others", async () => {
    const names = await startNameServer();
    names.swallow(["api.a.test"]);
    const proxy = await startProxy(["a", "b"], names.startAsking);
    const own = Promise.all(Array.from({ length: 50 }, () => proxy.order("a")));
    expect(await orders(proxy, "b", 100)).toEqual(allServed(100));
    for (const { status, text, tookMs } of await own) {
      expect(status).toBe(502);
      expect(JSON.parse(text)).toMatchObject({ code: "upstream_unreachable", outcome: "not_sent" });
      expect(text).toContain(
        "No connection to the service: its name cannot be resolved (DNS_TIMEOUT); correct the name in baseUrl",
      );
      // One reconnect is allowed, and both connections have timeouts.connect.
      expect(tookMs).toBeLessThan(10 * connectMs);
    }
    const failures = () => proxy.events("request_finished").filter(({ environment }) => environment === "a");
    // Lines are written a little later than answers.
    await proxy.line((line) => line.includes('"request_finished"') && failures().length === 50);
    const failed = failures();
    expect(new Set(failed.map(({ cause }) => cause))).toEqual(new Set(["DNS_TIMEOUT"]));
    // The resolver repeats its question after 5 s, and again for its next look-up after 10 s.
    expect(names.asked("api.a.test")).toBeLessThanOrEqual(3);
    // On a busy machine it may repeat one to which the answer came late.
    expect(names.asked("api.b.test")).toBeGreaterThanOrEqual(100);
    expect(names.asked("api.b.test")).toBeLessThanOrEqual(110);
  });

  it("that was found before, like two others, more than there are threads: no order fails", async () => {
    const names = await startNameServer();
    const environments = ["a", "b", "c", "d"];
    const proxy = await startProxy(environments, names.startAsking);
    for (const name of environments) expect(await orders(proxy, name, 1)).toEqual([200]);
    names.swallow(["api.a.test", "api.c.test", "api.d.test"]);
    const all = await Promise.all(environments.map((name) => orders(proxy, name, 50)));
    expect(all).toEqual(environments.map(() => allServed(50)));
    const warnings = () => proxy.events("old_address_used").filter(({ level }) => level === "warn");
    await proxy.line((line) => line.includes('"old_address_used"') && warnings().length >= 3);
    const warned = warnings();
    for (const name of ["a", "c", "d"]) {
      const ofHost = warned.filter(({ host }) => host === `api.${name}.test`);
      expect(ofHost).toMatchObject([{ cause: "DNS_TIMEOUT", isFirst: true }]);
    }
  });

  it("of Redis: no order fails", async () => {
    const names = await startNameServer();
    names.swallow(["redis.test"]);
    const redis = "tokens: { cache: redis }\nredis: { url: redis://redis.test:6379, encryptionKeys: [ { env: KEY } ] }";
    const variables = { KEY: randomBytes(32).toString("hex") };
    const proxy = await startProxy(["b"], names.startAsking, redis, variables);
    await proxy.nth("redis_down", 1);
    // By then the process has tried to reconnect to Redis more often than there are threads.
    const untilMs = performance.now() + 4_000;
    while (performance.now() < untilMs) expect(await orders(proxy, "b", 1)).toEqual([200]);
    expect(names.asked("redis.test")).toBe(1);
  });

  it("that was never found before, like six others, with the image's number of threads: no other order fails", async () => {
    const names = await startNameServer();
    const hanging = ["a", "c", "d", "e", "f", "g", "h"];
    names.swallow(hanging.map((name) => `api.${name}.test`));
    const proxy = await startProxy([...hanging, "b"], names.startAsking, "", imageVariables());
    // Three at once for each name: a look-up for each of them would take all threads.
    const own = Promise.all([...hanging, ...hanging, ...hanging].map((name) => orders(proxy, name, 1)));
    expect(await orders(proxy, "b", 50)).toEqual(allServed(50));
    expect((await own).flat()).toEqual(new Array(3 * hanging.length).fill(502));
  });
});

/** A process that looks names up at one name server; the service of each environment is `api.NAME.test`. */
async function startProxy(
  names: readonly string[],
  startAsking: readonly string[],
  more = "",
  variables: Readonly<Record<string, string>> = {},
) {
  const service = await startRawUpstream({
    answer: (_, socket) => void socket.end(rawAnswer(200, "{}", "Connection: close\r\n")),
  });
  const folder = new ConfigFolder();
  const ports = new Map<string, number>();
  for (const name of names) ports.set(name, await freePort());
  const environments = names.map((name, index) => {
    const key = folder.write(`key-${name}`, `canary-api-secret-key-${name}`);
    return `  ${name}:
    baseUrl: http://api.${name}.test:${service.port}
    allowPlaintext: true
    operations: [create_order]
    sites: { ${site}: { keys: [ { identifier: K200000000${index}, secret: { file: ${key} } } ] } }`;
  });
  const listeners = [...ports].map(([name, port]) => `{ bind: "127.0.0.1:${port}", environment: ${name} }`);
  const file = folder.write(
    "countersign.yaml",
    `listeners: [ ${listeners.join(", ")} ]
admin: { bind: "127.0.0.1:0" }
status: { bind: "127.0.0.1:0" }
timeouts: { connect: ${connectMs}ms }
environments:
${environments.join("\n")}
${more}
`,
  );
  const [command = "", ...args] = [...startAsking, process.execPath, "dist/main.js", "serve", "--config", file];
  const program = startProgram(command, args, plainEnvironment(variables));
  await program.nth("started", 1);
  return {
    ...program,
    /** An order to an environment. Each order needs a new connection, since the service closes it after its answer. */
    async order(environment: string) {
      const sinceMs = performance.now();
      const { status, text } = await call(`http://127.0.0.1:${ports.get(environment)}`);
      return { status, text, tookMs: performance.now() - sinceMs };
    },
  };
}

/** @returns the statuses of so many orders, one after the other */
async function orders({ order }: Awaited<ReturnType<typeof startProxy>>, environment: string, count: number) {
  const statuses: number[] = [];
  while (statuses.length < count) statuses.push((await order(environment)).status);
  return statuses;
}
