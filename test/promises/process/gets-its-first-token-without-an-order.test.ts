/** A start without an authorization server: the process asks it again and again, at the times that the log announces, until it is back. */
import { expect, it } from "vitest";
import { get } from "../../../testkit/call.ts";
import { ConfigFolder } from "../../../testkit/config-folder.ts";
import { sandboxConfig } from "../../../testkit/config-writer.ts";
import { granted, rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { startServe } from "../../../testkit/run-program.ts";

it("the process has its token soon after the authorization server is back, and the page says so, though nobody has sent an order", async () => {
  const { login, service, requested, ...proxy } = await startWithoutServer();
  await proxy.whenAskedSixTimes();
  expect(await proxy.credentials()).toMatchObject([{ token: "none", failingSince: expect.any(String) }]);
  expect(await proxy.page()).toMatch(/No token<.*Next try (now|in \d+ s)\./s);
  while (proxy.toldMs() <= 500) await proxy.program.nth("token_requested", requested().length + 1);
  proxy.comeBack();
  await proxy.whenIssued();
  const [set] = await proxy.credentials();
  expect(set).toMatchObject({ token: { issuedHere: true }, requests: { issued: { count: 1 } } });
  expect(set).not.toHaveProperty("failingSince");
  expect(await proxy.page()).not.toMatch(/no token|refused|failing/i);
  expect(service.connections).toBe(0);
  const tries = requested();
  expect(login.requests).toHaveLength(tries.length);
  expect(proxy.failed()).toHaveLength(tries.length - 1);
  for (const { message, pauseMs = 0 } of proxy.failed()) {
    const [, amount, unit] = /next try in ([\d.]+) (ms|s)$/.exec(message) ?? [];
    expect(Math.abs(Number(amount) * (unit === "s" ? 1_000 : 1) - pauseMs)).toBeLessThanOrEqual(50);
  }
  // The machine may stall between the start of a pause and its log line, so all pauses are judged together.
  const [first, last] = [tries.at(0), tries.at(-1)];
  const tookMs = Date.parse(last.time) - last.durationMs - (Date.parse(first.time) - first.durationMs);
  expect(tookMs).toBeGreaterThan(proxy.toldMs() - 250);
  expect(proxy.toldMs()).toBeGreaterThan(500);
});

it("a request that fails in the first second is told at debug, a later one as a warning, and there is a pause after each", async () => {
  const { failed, whenAskedSixTimes, program } = await startWithoutServer();
  await whenAskedSixTimes();
  expect(failed()[0]).toMatchObject({ level: "debug", reason: "start", isEarly: true });
  expect(failed().at(-1)).toMatchObject({ level: "warn", reason: "missing" });
  for (const { level, isEarly = false } of failed()) expect(level).toBe(isEarly ? "debug" : "warn");
  for (const { pauseMs } of failed()) expect(pauseMs).toBeGreaterThan(48);
  await program.stop();
});

it("the process ends at once when it is told to, and asks for no more tokens", async () => {
  const { login, program, requested, whenAskedSixTimes } = await startWithoutServer();
  await whenAskedSixTimes();
  expect(await program.stop()).toBe(0);
  // The last request may have had no answer yet.
  expect(login.requests.length - requested().length).toBeLessThanOrEqual(1);
});

/** A process of its own, whose authorization server breaks each connection until `comeBack`. */
async function startWithoutServer() {
  let isAway = true;
  const login = await startRawUpstream({
    answer: (_request, socket) => void (isAway ? socket.resetAndDestroy() : socket.write(granted)),
  });
  const service = await startRawUpstream({ answer: rawAnswer(200, "{}") });
  const folder = new ConfigFolder({ secret: "canary-client-secret" });
  const set = { name: "one", clientId: "client", clientSecret: { file: "secret" }, audience: "https://api.example" };
  const sandbox = { baseUrl: service.url, authUrl: login.url, sites: { S1: { credentials: [set] } } };
  const file = folder.config("countersign.yaml", {
    ...sandboxConfig(["127.0.0.1:0"], sandbox),
    log: { level: "debug" },
  });
  const program = await startServe(file);
  const requested = () => program.events("token_requested");
  const failed = () => requested().filter(({ result }) => result !== "issued");
  return {
    login,
    service,
    program,
    requested,
    failed,
    /** How long the log says that the failed requests and their pauses take. */
    toldMs: () => failed().reduce((sum, { durationMs, pauseMs = 0 }) => sum + durationMs + pauseMs, 0),
    page: async () => (await get(program.statusUrl, "/")).text,
    credentials: async () => (await get(program.statusUrl, "/status")).json.credentials,
    comeBack() {
      isAway = false;
    },
    /** Resolves after more requests than one refresh makes by itself. */
    whenAskedSixTimes: () => program.nth("token_requested", 6),
    whenIssued: () => program.line((line) => line.includes('"result":"issued"')),
  };
}
