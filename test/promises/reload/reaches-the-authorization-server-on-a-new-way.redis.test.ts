/**
 * If the trusted authority of the authorization server changes, it is tried immediately: earlier failures prove nothing. An answer
 * of the authorization server itself, such as a 429, outlives the change.
 */
import { expect, it } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { call } from "../../../testkit/call.ts";
import { authority, foreignCertificate, noTls, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { changed } from "../../../testkit/environment.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { accessTo, nodeAt } from "../../../testkit/redis-replica.ts";
import { stage } from "../../../testkit/stage.ts";

/** Longer than a test or a caller waits. */
const longMs = 6_000;

it.each(["memory", "redis"] as const)("with the right authority orders are served, tokens in %s", async (cache) => {
  const tokens = cache === "memory" ? { cache } : { cache, redis: accessTo(nodeAt((await startRedis()).port)) };
  const { trust, url, simulator } = await stageAt(tokens);
  await trust(authority);
  expect((await call(url)).status).toBe(200);
  expect(simulator.counts().tokenRequests).toBe(1);
});

it("a 429 with Retry-After is obeyed, whatever changes", async () => {
  const { trust, url, simulator } = await stageAt({ cache: "memory" });
  simulator.faults.add({ host: "login", kind: "answer", status: 429, headers: { "retry-after": "600" } });
  await trust(authority);
  expect((await call(url)).status).toBe(503);
  await trust(`${authority}\n`);
  const { status, headers } = await call(url);
  expect(status).toBe(503);
  expect(Number(headers["retry-after"])).toBeGreaterThan(500);
  expect(simulator.counts().tokenRequests).toBe(1);
});

/** A proxy that trusts the wrong authority, and has failed so often that its next pause is long. */
async function stageAt(tokens: Config["tokens"]) {
  const staged = await stage({
    oneSet: true,
    simulator: { tls: { cert: serverCertificate, key: serverKey } },
    environment: { tls: { ...noTls, ca: foreignCertificate } },
    config: { tokens },
    surroundings: { random: () => 0.999 },
  });
  const { clock, config, recorder, url } = staged;
  let pauseMs = 0;
  while (pauseMs < longMs) {
    expect((await call(url)).status).toBe(503);
    pauseMs = recorder.of("token_requested").at(-1)?.pauseMs ?? 0;
    if (pauseMs >= longMs) break;
    clock.push(pauseMs + 1);
    // The service compares orders' timestamps with its own clock.
    clock.jumpWall(-pauseMs - 1);
  }
  const trust = (ca: string) => staged.reload(changed(config, () => ({ tls: { ...noTls, ca } })));
  return { ...staged, trust };
}
