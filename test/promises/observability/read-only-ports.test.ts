/**
 * The admin and status ports can be read, and change nothing. The status port answers only to this
 * machine's own names: otherwise a web site that somebody visits could point its own name at 127.0.0.1 and read the status page
 * (DNS rebinding).
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen } from "../../../src/adapters/http-server/listen.ts";
import { createAdmin, isOwnHost } from "../../../src/adapters/http-server/read-only-server.ts";
import { systemClock } from "../../../src/model/clock.ts";
import type { Bind } from "../../../src/model/listener.ts";
import { BufferBudget } from "../../../src/serving/buffer-budget.ts";
import { call, get, order } from "../../../testkit/call.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { RawConnection, readAnswer, sendRaw } from "../../../testkit/raw-caller.ts";
import { granted, rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { bothSite, childSite, oauthSite, type StageOptions, stage } from "../../../testkit/stage.ts";

it("answers 200 at /livez, whatever else is down", async () => {
  const { adminUrl, simulator } = await stage();
  await Promise.all([simulator.stopApi(), simulator.stopLogin()]);
  const { status, text, headers } = await get(adminUrl, "/livez");
  expect([status, text]).toEqual([200, "ok\n"]);
  // Of our own answers only (RFC 9110 section 6.6.1).
  expect(Date.parse(headers["date"] ?? "")).toBeGreaterThan(Date.now() - 5_000);
});

it("is ready as soon as it listens, even without a token", async () => {
  const { adminUrl } = await stageAwaiting({ config: { readiness: "listening" } });
  expect(await get(adminUrl, "/readyz")).toMatchObject({ status: 200, text: "ok\n" });
});

it.each([
  ["the default site", oauthSite],
  ["a default site that uses its parent's set", childSite],
])("with readiness: token is ready from the first token of %s on, even when it lapses", async (_, site) => {
  const staged = await stageAwaiting({ environment: { defaultSite: site } });
  const { adminUrl, clock, recorder } = staged;
  const text = `no token yet for sandbox: ${oauthSite}\n`;
  expect(await get(adminUrl, "/readyz")).toMatchObject({ status: 503, text });
  expect((await get(adminUrl, "/livez")).status).toBe(200);
  staged.issue();
  await recorder.nth("token_adopted", 1);
  expect((await get(adminUrl, "/readyz")).status).toBe(200);
  clock.push(2 * 3_600_000);
  await recorder.nth("token_lapsed", 1);
  expect((await get(adminUrl, "/readyz")).status).toBe(200);
});

it("becomes ready with the second set when the first is refused", async () => {
  const login = await startRawUpstream({
    answer: ({ body }, socket) => socket.write(body.includes("green-id") ? granted : rawAnswer(401)),
  });
  const { adminUrl, recorder } = await stage({ authUrl: login.url, config: { readiness: "token" } });
  await recorder.nth("token_requested", 1, ({ result }) => result === "refused");
  expect((await get(adminUrl, "/readyz")).status).toBe(503);
  expect(await recorder.nth("token_adopted", 1)).toMatchObject({ credential: `${oauthSite}/green` });
  expect((await get(adminUrl, "/readyz")).status).toBe(200);
  expect(login.requests).toHaveLength(2);
});

it("with readiness: token is ready once a token request has failed, if the default site's orders are signed then", async () => {
  const login = await startRawUpstream({ answer: (_, socket) => socket.end(rawAnswer(503)) });
  const { adminUrl, recorder } = await stage({
    authUrl: login.url,
    withBoth: true,
    site: { bridge: "hmac" },
    environment: { defaultSite: bothSite },
    config: { readiness: "token" },
  });
  await recorder.nth("token_requested", 1);
  expect((await get(adminUrl, "/readyz")).status).toBe(200);
});

it("has no other pages on either port", async () => {
  const { adminUrl, statusUrl } = await stage();
  const paths = ["/", "/status", "/create_order", "/metrics/", "/nothing?/livez", "/__proto__", "//livez", "/LIVEZ"];
  for (const path of paths) {
    expect((await get(adminUrl, path)).status, path).toBe(404);
  }
  for (const path of ["/live/", "/metrics", "/livez", "/create_order"]) {
    expect((await get(statusUrl, path)).status, path).toBe(404);
  }
  expect((await get(adminUrl, "/")).text).toBe("Not here. This port has /livez, /readyz, /metrics.\n");
});

it("finds a page by its path alone, since Prometheus may add a query", async () => {
  const { adminUrl, statusUrl } = await stage();
  const answers = await Promise.all([
    get(adminUrl, "/metrics?x=1"),
    get(adminUrl, "/livez?"),
    get(adminUrl, "/readyz?verbose=1&verbose=2"),
    get(statusUrl, "/status?pretty"),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(answers[0]?.text).toContain("# TYPE countersign_requests_total counter");
});

it("serves 64 connections and no more, and drops the longest idle one for a new one", async () => {
  const { adminUrl } = await stage();
  const port = Number(new URL(adminUrl).port);
  const open = async () => {
    const socket = connect(port, "127.0.0.1").resume();
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    return socket;
  };
  const held: Socket[] = [];
  for (let n = 0; n < 64; n += 1) held.push(await open());
  const gone = new Set<number>();
  for (const [n, socket] of held.entries()) socket.once("close", () => gone.add(n));
  // The first connection is active, and half of the others are in the middle of a head.
  held[0]?.write("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n");
  const [answer] = await once(held[0] ?? expect.fail(), "data");
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
  for (const socket of held.slice(32)) socket.write("GET /livez HTTP/1.1\r\n");
  for (let n = 1; n <= 8; n += 1) expect((await get(adminUrl, "/livez")).status).toBe(200);
  await expect.poll(() => gone.has(1)).toBe(true);
  expect(gone.has(0)).toBe(false);
  // The new connections close by themselves when served, so one place was enough for all of them.
  expect(gone.size).toBeLessThanOrEqual(8);
  const more = await Promise.all(Array.from({ length: 200 }, open));
  await expect.poll(() => [...held, ...more].filter((socket) => !socket.destroyed).length).toBeLessThanOrEqual(64);
  expect((await get(adminUrl, "/livez")).status).toBe(200);
});

it("shows /metrics under its own names and those of admin.hosts, and answers probes under any name", async () => {
  const { adminUrl } = await stage({ config: { adminHosts: ["proxy-1"] } });
  const statusOf = async (path: string, host: string) => {
    const { status } = await get(adminUrl, path, { headers: { host } });
    return status;
  };
  for (const host of ["localhost:7412", "10.0.0.5:7412", "[fd00::7]:7412", `${hostname()}:7412`, "Proxy-1:7412"]) {
    expect([host, await statusOf("/metrics", host)]).toEqual([host, 200]);
  }
  expect(await statusOf("/metrics", "evil.example:7412")).toBe(403);
  expect(await statusOf("/metrics", "proxy-1.evil.example")).toBe(403);
  for (const path of ["/livez", "/readyz"]) expect(await statusOf(path, "shop.pods.example:7412")).toBe(200);
});

it("waits for a head no longer than 10 s", async () => {
  const { adminUrl, clock } = await stage();
  const connection = await RawConnection.open(Number(new URL(adminUrl).port));
  connection.write("GET /livez HTTP/1.1\r\n");
  expect((await get(adminUrl, "/livez")).status).toBe(200);
  clock.push(10_000);
  expect(await connection.ended()).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
});

/** The admin port alone. */
async function serveAdmin(bind: Bind, text = "") {
  const server = createAdmin(
    { readiness: () => ({ isReady: true, reason: "ok" }), metrics: async () => ({ contentType: "text/plain", text }) },
    { clock: systemClock, buffers: new BufferBudget(Number.POSITIVE_INFINITY, systemClock) },
  );
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return listen(server, bind);
}

it("answers a probe while 64 others do not read their answers", async () => {
  const bind = await serveAdmin({ kind: "tcp", host: "127.0.0.1", port: 0 }, "x".repeat(5_000_000));
  const port = bind.kind === "tcp" ? bind.port : 0;
  for (let n = 0; n < 64; n++) {
    const reader = await RawConnection.open(port);
    reader.write("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(reader.socket, "data");
    reader.socket.pause();
  }
  expect((await get(`http://127.0.0.1:${port}`, "/livez")).status).toBe(200);
});

it("accepts HTTP/1.0 on a Unix socket, since the image's health check speaks it", async () => {
  const path = join(emptyFolder(), "admin.sock");
  await serveAdmin({ kind: "unix", path });
  expect(await sendRaw({ path }, "GET /livez HTTP/1.0\r\nHost: localhost\r\n\r\n")).toMatch(
    /^HTTP\/1\.1 200 OK\r\n.*\r\n\r\nok\n$/s,
  );
});

it("has no method that changes anything", async () => {
  const { adminUrl, statusUrl, simulator } = await stage();
  for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]) {
    for (const [url, path] of [
      [adminUrl, "/livez"],
      [adminUrl, "/readyz"],
      [adminUrl, "/metrics"],
      [adminUrl, "/create_order"],
      [statusUrl, "/status"],
    ] as const) {
      const answer = await call(url, order, { path, method });
      expect([method, path, answer.status, answer.headers.allow]).toEqual([method, path, 405, "GET, HEAD"]);
    }
  }
  expect((await get(adminUrl, "/readyz")).status).toBe(200);
  expect(simulator.counts().apiRequests).toBe(0);
});

it("answers HEAD as GET, without the body", async () => {
  const { adminUrl, statusUrl } = await stage();
  for (const [url, path] of [
    [adminUrl, "/livez"],
    [adminUrl, "/readyz"],
    [adminUrl, "/metrics"],
    [statusUrl, "/status"],
  ] as const) {
    const { status, headers, text } = await get(url, path, { method: "HEAD" });
    expect([path, status, text]).toEqual([path, 200, ""]);
    expect(headers["content-type"]).toBe((await get(url, path)).headers["content-type"]);
    expect(Number(headers["content-length"])).toBeGreaterThan(0);
  }
});

const advice = "Use localhost or an IP address";
const from = (host: string) => ({ headers: { host } });

describe("the status port", () => {
  it.each(["localhost", "LOCALHOST:9000", "127.0.0.1", "127.8.8.8:1", "10.0.0.5:7413", "[::1]", "[fd00::7]:80"])(
    "knows %s as its own: no name server can point it elsewhere",
    (host) => expect(isOwnHost(host)).toBe(true),
  );

  it.each([
    "evil.example",
    "evil.example:7413",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "localhost.",
    "",
    "2130706433",
    "0x7f.1",
    "127.1",
    "[evil]",
    "::1",
    "localhost:",
    "localhost:x",
    "a@localhost",
    "localhost, a",
  ])("does not know %j as its own", (host) => expect(isOwnHost(host)).toBe(false));

  it("shows its pages under its own names, and nothing under other names", async () => {
    const { statusUrl } = await stage();
    expect((await get(statusUrl, "/", from("localhost:9000"))).status).toBe(200);
    expect((await get(statusUrl, "/status", from("10.0.0.5:7413"))).status).toBe(200);
    for (const path of ["/", "/still", "/status", "/nothing"]) {
      const { status, text } = await get(statusUrl, path, from("evil.example:7413"));
      expect([path, status]).toEqual([path, 403]);
      expect(text).toContain(advice);
    }
    expect((await get(statusUrl, "/status", { ...from("evil.example"), method: "POST" })).status).toBe(403);
  });

  it("shows nothing for a request without a Host", async () => {
    const { statusUrl } = await stage();
    const answer = await sendRaw(Number(new URL(statusUrl).port), "GET /status HTTP/1.0\r\n\r\n");
    expect(readAnswer(answer)).toMatchObject({ status: 403, body: expect.stringContaining(advice) });
  });

  it("forbids browsers to run scripts, frame or store the page, and send its address on", async () => {
    const { statusUrl } = await stage();
    for (const path of ["/", "/still", "/status", "/nothing"]) {
      const { headers } = await get(statusUrl, path);
      expect(headers).toMatchObject({
        "cache-control": "no-store",
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
      });
      const policy = String(headers["content-security-policy"]).split("; ");
      const none = ["default-src", "base-uri", "form-action", "frame-ancestors"].map((what) => `${what} 'none'`);
      expect(policy).toEqual(expect.arrayContaining(none));
      expect(policy.join()).not.toMatch(/unsafe|script-src|\*/);
      expect(headers).not.toHaveProperty("access-control-allow-origin");
    }
  });

  it("reloads itself at /, and does not at /still", async () => {
    const { statusUrl } = await stage();
    const [page, still] = await Promise.all([get(statusUrl, "/"), get(statusUrl, "/still?refresh=5")]);
    expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(page.text).toContain('<meta http-equiv="refresh" content="10">');
    expect(page.text).toContain('<a href="/still">');
    expect(still.text).not.toContain("http-equiv");
    expect(still.text).toContain('<a href="/">let it reload</a>');
  });
});

/** An authorization server that answers when the test says so, and a proxy that is ready once it has a token. */
async function stageAwaiting(options: StageOptions = {}) {
  const pending: (() => void)[] = [];
  const login = await startRawUpstream({ answer: (_, socket) => pending.push(() => socket.write(granted)) });
  const staged = await stage({ authUrl: login.url, ...options, config: { readiness: "token", ...options.config } });
  await login.whenRequests(1);
  return { ...staged, issue: () => pending.shift()?.() };
}
