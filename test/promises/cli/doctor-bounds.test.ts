import { describe, expect, it, test } from "vitest";
import { checkConfig } from "../../../src/cli/doctor/config.ts";
import { evaluateConnection, type Target } from "../../../src/cli/doctor/connection.ts";
import { evaluateClock } from "../../../src/cli/doctor/peers.ts";
import { evaluateEviction, evaluateLatency } from "../../../src/cli/doctor/redis.ts";
import { sampleOf, tokenSample } from "../../../src/cli/doctor/token.ts";
import { reportBackoff } from "../../../src/cli/no-token.ts";
import { printable } from "../../../src/cli/terminal.ts";
import { formatSpan, systemClock } from "../../../src/model/clock.ts";
import { ConfigFolder, sound } from "../../../testkit/config-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { openFolder, runDoctor } from "./doctor-runs.ts";

// The doctor's limits: its verdict at each limit, and just beyond it.

const to: Target = {
  address: { origin: "https://api", scheme: "https", host: "api", port: 443, path: "" },
  tls: { ca: undefined, cert: undefined, key: undefined },
  place: "api:443",
  host: "api",
  setting: "environments.e.baseUrl",
  tlsSetting: "environments.e.tls",
  egressSetting: "environments.e.egress",
  connectTimeoutMs: 1,
};
const nowMs = Date.parse("2026-01-01T00:00:00Z");
const dayMs = 86_400_000;

test.each([
  [14 * dayMs, "ok"],
  [14 * dayMs - 1, "warn"],
  [1, "warn"],
])("a certificate that is valid for another %i ms: %s", (leftMs, verdict) => {
  const certificate = { subject: "api", issuer: "CA", validFromMs: 0, validToMs: nowMs + leftMs };
  const probe = { connectedAtMs: 0, protocol: "TLSv1.3", certificate };
  expect(evaluateConnection(probe, to, nowMs).verdict).toBe(verdict);
});

describe("a Date, which is cut to whole seconds", () => {
  const date = new Date(nowMs).toUTCString();

  test.each([
    [0, "ok", /agrees/],
    [999, "ok", /agrees/],
    [1_999, "ok", /agrees/],
    [2_000, "ok", /1 s ahead/],
    [6_000, "ok", /5 s ahead/],
    [6_001, "warn", /5 s ahead/],
    [31_000, "warn", /30 s ahead/],
    [31_001, "fail", /30 s ahead/],
    [-999, "ok", /agrees/],
    [-1_000, "ok", /1 s behind/],
    [-5_000, "ok", /5 s behind/],
    [-5_001, "warn", /5 s behind/],
    [-30_000, "warn", /30 s behind/],
    [-30_001, "fail", /30 s behind/],
  ])("our clock %i ms after it: %s", (atMs, verdict, says) => {
    const found = evaluateClock({ status: 200, date, sentAtMs: nowMs + atMs, receivedAtMs: nowMs + atMs });
    expect(found).toMatchObject({ verdict, detail: expect.stringMatching(says) });
  });

  it("blames no clock when the response took long", () => {
    const found = evaluateClock({ status: 200, date, sentAtMs: nowMs - 60_000, receivedAtMs: nowMs + 60_000 });
    expect(found.verdict).toBe("ok");
  });
});

test.each([
  [[1, 1, 10, 10, 100], "ok", "5 round trips: median 10 ms, longest 100 ms"],
  [[1, 10.4, 11], "warn", "3 round trips: median 10 ms, longest 11 ms"],
  [[1, 1, 101], "warn", "3 round trips: median 1.0 ms, longest 101 ms"],
  [[0, 101, 102], "fail", "3 round trips: median 101 ms, longest 102 ms; commands end after 100 ms"],
  [[3, 2, 100, 1, 2], "ok", "5 round trips: median 2.0 ms, longest 100 ms"],
])("a Redis that answers in %j ms: %s", (roundTripsMs, verdict, detail) => {
  expect(evaluateLatency({ roundTripsMs })).toMatchObject({ verdict, detail });
});

test("a Redis that may evict keys is a warning only after it has evicted one", () => {
  const evicting = (evictedKeys: number) => {
    const facts = { version: "7", role: "master", runId: "r", evictionPolicy: "allkeys-lru", isAppendOnly: false };
    return evaluateEviction({ facts: { ...facts, evictedKeys } })?.verdict;
  };
  expect([evicting(0), evicting(1)]).toEqual(["ok", "warn"]);
  expect(evaluateEviction({ facts: undefined })).toBeUndefined();
});

test("an unknown error is reported by its code, with a fix", () => {
  const { verdict, detail, fix } = evaluateConnection({ code: "ESOMETHING" }, to, nowMs);
  expect({ verdict, detail }).toEqual({ verdict: "fail", detail: "no connection (ESOMETHING)" });
  expect(fix).toContain("api:443");
});

test.each([
  [
    "PROXY_STATUS_407",
    "the proxy wants other credentials (CODE) | put user:password into the file of environments.e.egress.auth; HTTP Basic is what is sent",
  ],
  [
    "PROXY_STATUS_403",
    "the proxy lets no connection to api:443 through (CODE) | have CONNECT to api:443 allowed at the proxy, or name the host in environments.e.egress.noProxy",
  ],
  [
    "PROXY_STATUS_502",
    "the proxy does not reach api:443 (CODE) | see the proxy's log: its DNS and its firewall decide; correct the name in environments.e.baseUrl",
  ],
  [
    "PROXY_TIMEOUT",
    "the proxy opened no tunnel within 1 ms (CODE) | see whether the proxy reaches api:443, and how busy it is",
  ],
  [
    "PROXY_CLOSED",
    "the proxy opens no tunnel (CODE) | see that environments.e.egress names an HTTP proxy and its right port, and what its log says",
  ],
  [
    "ENOTFOUND",
    "its name cannot be resolved (CODE) | correct the name in environments.e.baseUrl, or see to DNS (NetworkPolicy: egress to port 53)",
  ],
  [
    "ECONNREFUSED",
    "connections are refused (CODE) | see that it is up, and that host and port in environments.e.baseUrl are right",
  ],
  [
    "ENOENT",
    "there is no such socket (CODE) | see that it is up, and that the path in environments.e.baseUrl is right",
  ],
  ["EACCES", "this user may not connect (CODE) | let this user write to the socket that environments.e.baseUrl names"],
  [
    "EHOSTUNREACH",
    "no connection within 1 ms (CODE) | let this pod reach api:443 (NetworkPolicy or firewall: egress to that port)",
  ],
  [
    "TLS_TIMEOUT",
    "it took the connection, and no TLS came within 1 ms (CODE) | see that the port in environments.e.baseUrl speaks TLS, and what stands between here and api:443 (proxy, service mesh)",
  ],
  [
    "EPIPE",
    "the connection is closed as soon as it is made (CODE) | see what stands between here and api:443 (proxy, firewall, service mesh), and that the port is right",
  ],
  [
    "CERT_HAS_EXPIRED",
    "its certificate has expired 3 days ago (CODE) | its owner has to renew it; if every certificate seems expired, this machine's clock is wrong",
  ],
  [
    "CERT_NOT_YET_VALID",
    "its certificate is not valid yet, but in 2 days (CODE) | set this machine's clock (NTP on the node)",
  ],
  [
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "its certificate is not for this name but for www (CODE) | write the name that it is for in environments.e.baseUrl, or have this name added to the certificate",
  ],
  [
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "its certificate is by an unknown issuer: CA (CODE) | see that environments.e.tls.caFile holds its authority, if that is a private one; otherwise something intercepts the connection",
  ],
  [
    "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED",
    "it does not accept our client certificate, or wants one (CODE) | give a certificate that it accepts as environments.e.tls.certFile and environments.e.tls.keyFile",
  ],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "it does not speak TLS (CODE) | give the port of its TLS in environments.e.baseUrl"],
  ["ERR_SSL_UNSUPPORTED_PROTOCOL", "it speaks no TLS from 1.2 on (CODE) | its owner has to turn on TLS 1.2 or 1.3"],
])("%s: the words of finding and fix", (code, words) => {
  const certificate = { subject: "www", issuer: "CA", validFromMs: nowMs + 2 * dayMs, validToMs: nowMs - 3 * dayMs };
  const { detail, fix } = evaluateConnection({ code, certificate }, to, nowMs);
  expect(`${detail} | ${fix}`).toBe(words.replace("CODE", code));
});

test("without a certificate of the server, nothing is said of it", () => {
  const { detail } = evaluateConnection({ code: "CERT_HAS_EXPIRED" }, to, nowMs);
  expect(detail).toBe("its certificate has expired (CERT_HAS_EXPIRED)");
});

test("a warning about the configuration as a whole names its file", async () => {
  const folder = new ConfigFolder();
  const file = `${folder.path}/countersign.yaml`;
  const loaded = await folder.loadSound(sound, { mountPoints: new Set([file]) });
  const checks = checkConfig({
    file,
    ...loaded,
    warnings: loaded.warnings.filter(({ code }) => code === "mounted_by_subpath"),
    withToken: false,
    allTokens: false,
    clock: systemClock,
    deadlineMs: 0,
  });
  const lines = checks.map(({ verdict, subject, detail, fix }) => `${verdict} ${subject}: ${detail} | ${fix}`);
  expect(lines).toContain(
    `warn ${file}: this file is mounted by subPath and is never updated | mount its whole folder`,
  );
});

test.each([
  [-1, "0 s"],
  [999, "0 s"],
  [119_999, "119 s"],
  [120_000, "2 min"],
  [7_199_999, "119 min"],
  [7_200_000, "2 h"],
  [9_600_000, "2 h 40 min"],
  [36_000_000 - 1, "9 h 59 min"],
  [39_600_000 - 1, "10 h"],
  [2 * dayMs - 1, "47 h"],
  [2 * dayMs, "2 days"],
])("%i ms reads %s", (ms, text) => {
  expect(formatSpan(ms)).toBe(text);
});

test("foreign text has no effect on a terminal", () => {
  expect(printable("a\u001b[2Jb\r\nc\u0007\u202ed\u009be")).toBe("a [2Jb c d e");
  expect(printable("x".repeat(81))).toBe(`${"x".repeat(79)}…`);
});

test("of many credential sets a sample is checked, at equal distances", () => {
  const all = Array.from({ length: 10_000 }, (_, index) => index);
  expect(sampleOf(all.slice(0, tokenSample))).toEqual(all.slice(0, tokenSample));
  expect(sampleOf(all)).toEqual([0, 1_111, 2_222, 3_333, 4_444, 5_555, 6_666, 7_777, 8_888, 9_999]);
});

it.each([
  [20, 1],
  [21, 2],
])("a report of %i checks has each failure %i times: beyond 20 checks, again at its end", async (checks, times) => {
  const opened = await openFolder();
  const [baseUrl, authUrl] = [`http://127.0.0.1:${await freePort()}`, `http://localhost:${await freePort()}`];
  /** Each route is a warning, since a site has no token; and nobody listens at the service's ports. */
  const configure = (routes: number) => {
    const passThrough = Array.from({ length: routes }, (_, n) => `{ prefix: /p${n}/, methods: [ GET ] }`).join(", ");
    const signing = "S1: { keys: [ { identifier: K1, secret: { file: DIR/k1 } } ] }";
    const set = "{ name: blue, clientId: c, clientSecret: { file: DIR/k1 }, audience: https://api.example }";
    const sites = `authUrl: "${authUrl}", sites: { ${signing}, S2: { credentials: [ ${set} ] } }`;
    const sandbox = `baseUrl: "${baseUrl}", allowPlaintext: true, ${sites}, passThrough: [ ${passThrough} ]`;
    return opened.write({ environments: { sandbox } });
  };
  const count = async (routes: number) =>
    JSON.parse((await runDoctor(["--json", "--config", configure(routes)])).stdout).checks.length;
  const routes = 1 + checks - (await count(1));
  const { exitCode, stdout } = await runDoctor(["--config", configure(routes)]);
  const lines = stdout.split("\n");
  expect(exitCode).toBe(1);
  const failures = lines.filter((line) => line.startsWith("fail"));
  expect(failures.length).toBe(new Set(failures).size * times);
  expect(failures.length).toBeGreaterThan(0);
  const atEnd = lines.includes("Failed:") ? lines.slice(lines.indexOf("Failed:") + 1) : [];
  const repeated = atEnd.filter((line) => /^(ok|warn|fail|skip) /.test(line));
  expect(repeated).toEqual(times === 2 ? [...new Set(failures)] : []);
});

it("never says that the authorization server is asked again in 0 s", () => {
  const asked = { set: { label: "S1/blue" }, tokenUrl: new URL("https://auth.example/token") };
  const { detail } = reportBackoff({ status: 429, remainingMs: 40 } as never, asked as never);
  expect(detail).toMatch(/is asked again by itself in 1 s$/);
});
