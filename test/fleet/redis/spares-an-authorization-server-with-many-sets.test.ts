/**
 * Two replicas and 300 credential sets at an authorization server that allows 20 token requests a second. Orders get
 * their tokens in turn, a Retry-After holds for all sets and replicas, and the sets are refreshed one by one.
 */
import { expect, it } from "vitest";
import { toYaml } from "../../../src/config/files/yaml.ts";
import { call } from "../../../testkit/call.ts";
import { ConfigFolder } from "../../../testkit/config-folder.ts";
import { sandboxConfig } from "../../../testkit/config-writer.ts";
import { inParallel } from "../../../testkit/in-parallel.ts";
import { keepAlive } from "../../../testkit/keep-alive.ts";
import { siteAt } from "../../../testkit/many-sites.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { startServe } from "../../../testkit/run-program.ts";

const sets = 300;
const perSecond = 20;
const retryAfterMs = 1_000;
const lifetimeSeconds = 40;
/** Token requests that each of two replicas may have sent before it reads a 429: eight, and one that is answered. */
const mostUnderWay = 2 * 8;

it("orders get their tokens in turn, no Retry-After is ignored, and refreshes are spread", {
  timeout: 240_000,
}, async () => {
  const { server, issuedMs, counts } = await startLimited();
  const service = await startRawUpstream({ answer: rawAnswer(200, "{}") });
  const redis = await startRedis();
  const folder = new ConfigFolder();
  const sites = Array.from({ length: sets }, (_, n) => {
    const clientSecret = folder.secret(`secret-${n}`, `canary-client-secret-${n}`);
    return [siteAt(n), { credentials: [{ name: "one", clientId: `c${n}`, clientSecret, audience: "https://api" }] }];
  });
  const sandbox = {
    baseUrl: service.url,
    authUrl: server.url,
    defaultSite: siteAt(0),
    sites: Object.fromEntries(sites),
  };
  const shared = { tokens: { cache: "redis" }, redis: { url: redis.url, encryptionKeys: [{ file: "token-key" }] } };
  const startReplica = async (n: number) => {
    const file = folder.write(`${n}.yaml`, toYaml(sandboxConfig([`unix:${folder.path}/${n}.sock`], sandbox, shared)));
    await startServe(file);
    return { socketPath: `${folder.path}/${n}.sock`, agent: keepAlive() };
  };
  const replicas = await Promise.all([startReplica(1), startReplica(2)]);
  const order = (n: number) => {
    const headers = { "countersign-site": siteAt(n) };
    return call("http://localhost", undefined, { ...(replicas[n % 2] ?? expect.unreachable()), headers });
  };
  /** Repeats a refused order when it was told to. */
  const orderUntilServed = async (n: number): Promise<number> => {
    for (let refusals = 0; ; refusals += 1) {
      const { status, text, headers } = await order(n);
      if (status === 200) return refusals;
      expect(text).toContain("token_unavailable");
      await new Promise((resolve) => setTimeout(resolve, Number(headers["retry-after"]) * 1_000));
    }
  };
  const all = Array.from({ length: sets }, (_, n) => n);

  // At the start only the default site asks for its token.
  await server.whenRequests(1);
  const refusals = await inParallel(60, all, orderUntilServed);
  const first = counts();
  expect(first.issued).toBe(sets);
  const refused = refusals.reduce((sum, each) => sum + each, 0);
  process.stdout.write(`first tokens: ${JSON.stringify({ ...first, refused })}\n`);
  expect(first.throttled).toBeLessThanOrEqual(first.pauses * mostUnderWay);
  expect(first.throttled).toBeLessThan(sets / 2);

  const sinceMs = performance.now();
  const slow: string[] = [];
  while (performance.now() - sinceMs < lifetimeSeconds * 1_000) {
    await inParallel(4, all, async (n) => {
      const { status, text } = await order(n);
      if (status !== 200) slow.push(text);
    });
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  }
  const refreshedMs = issuedMs.slice(sets);
  const inOneSecond = refreshedMs.map(
    (fromMs) => refreshedMs.filter((atMs) => atMs >= fromMs && atMs < fromMs + 1_000).length,
  );
  process.stdout.write(`refreshes: ${JSON.stringify({ ...counts(), busiest: Math.max(...inOneSecond) })}\n`);
  expect(slow).toEqual([]);
  expect(refreshedMs.length).toBeGreaterThan(sets / 2);
  expect(counts().throttled - first.throttled).toBeLessThanOrEqual((counts().pauses - first.pauses) * mostUnderWay);
});

/** Counts the token requests that arrive within a Retry-After. */
async function startLimited() {
  const issuedMs: number[] = [];
  let pausedUntilMs = 0;
  let pauses = 0;
  let throttled = 0;
  const server = await startRawUpstream({
    answer({ number }, socket) {
      const nowMs = performance.now();
      if (issuedMs.filter((atMs) => atMs > nowMs - 1_000).length >= perSecond) {
        throttled += 1;
        if (nowMs > pausedUntilMs) pauses += 1;
        // The pause begins with the first 429: later ones were under way.
        if (nowMs > pausedUntilMs) pausedUntilMs = nowMs + retryAfterMs;
        socket.write(rawAnswer(429, "", `Retry-After: ${retryAfterMs / 1_000}\r\n`));
        return;
      }
      issuedMs.push(nowMs);
      const token = { access_token: `canary-token-${number}`, token_type: "Bearer", expires_in: lifetimeSeconds };
      socket.write(rawAnswer(200, JSON.stringify(token)));
    },
  });
  return {
    server,
    issuedMs,
    counts: () => ({ issued: issuedMs.length, throttled, pauses }),
  };
}
