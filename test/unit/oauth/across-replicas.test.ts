/** Replicas over a shared store. The test controls the clock and the authorization server. */
import { describe, expect, it } from "vitest";
import { Secret } from "../../../src/model/secret.ts";
import type { CredentialFailover } from "../../../src/oauth/credential-failover.ts";
import type { Shared } from "../../../src/oauth/token-store.ts";
import { answered } from "../../../testkit/token-endpoint-script.ts";
import { hourMs, keyOfBlue, stageTokens } from "../../../testkit/token-stage.ts";

/** A stage with this many processes; the first is the stage's own. */
function stageReplicas(count: number) {
  const stage = stageTokens();
  const replicas = [stage.source, ...Array.from({ length: count - 1 }, () => stage.openSource())];
  /** A request that the service answers with 401: returns the replacement of its token. */
  const refuse = async (source: CredentialFailover, site: string) =>
    stage.replace(await source.get(stage.deadline()), site, source);
  return { ...stage, replicas, refuse, requests: () => stage.login.requests };
}

it("a replica uses a token that another got, although the authorization server told this one to wait", async () => {
  const { replicas, clock, login, get, store } = stageReplicas(2);
  const [one = expect.unreachable(), other = expect.unreachable()] = replicas;
  login.next(answered(429, "", "3600"));
  await expect(get(one)).rejects.toMatchObject({ code: "token_unavailable" });
  await clock.advance(2_000);
  await store.save(keyOfBlue, { secret: new Secret("found"), lifetimeMs: hourMs }, 0);
  expect(await get(one)).toBe("found");
  expect(await get(other)).toBe("found");
  expect(login.requests).toBe(1);
});

it("a due token of eight replicas is refreshed once; a replica that finds the lock held neither waits nor polls", async () => {
  const { replicas, clock, login, get, store } = stageReplicas(8);
  const first = Promise.all(replicas.map((replica) => get(replica)));
  await clock.advance(100);
  expect(new Set(await first)).toEqual(new Set(["token_1"]));
  expect(login.requests).toBe(1);
  let reads = 0;
  const { read } = store;
  store.read = async (key): Promise<Shared> => {
    reads += 1;
    return read(key);
  };
  const release = login.hold();
  await clock.advance(0.84 * hourMs - 100);
  for (const replica of replicas) expect(await get(replica)).toBe("token_1");
  await clock.advance(900);
  for (const replica of replicas) expect(await get(replica)).toBe("token_1");
  // The holder read the store twice, each other replica once.
  expect(reads).toBe(9);
  release();
  await clock.advance(3_000);
  for (const replica of replicas) expect(await get(replica)).toBe("token_2");
  expect(login.requests).toBe(2);
  expect(reads).toBe(16);
});

it("a replica waits for a lock that is never released for a minute and a half, then ignores the lock", async () => {
  const { openReplica, clock, login, get, lock } = stageTokens();
  await lock.tryAcquire(keyOfBlue);
  const { source } = openReplica();
  source.warm();
  await clock.advance(89_000);
  expect(login.requests).toBe(0);
  await clock.advance(3_000);
  expect(await get(source)).toBe("token_1");
});

describe("401 for ever, over several replicas", () => {
  it("pauses a site on all replicas, and longer each time, whichever replica tries", async () => {
    const { replicas, clock, refuse, requests } = stageReplicas(3);
    const counts: number[] = [];
    for (const pauseMs of [20_000, 20_000, 40_000]) {
      for (const replica of replicas) await refuse(replica, "S1");
      counts.push(requests());
      await clock.advance(pauseMs - 6_000);
      for (const replica of replicas) await refuse(replica, "S1");
      counts.push(requests());
      await clock.advance(6_000);
    }
    expect(counts).toEqual([2, 2, 3, 3, 4, 4]);
  });

  it("on many sites uses three tokens a minute in total, even before it is known whether the new ones are accepted", async () => {
    const { replicas, refuse, requests, recorder } = stageReplicas(4);
    for (let site = 0; site < 8; site++) for (const replica of replicas) await refuse(replica, `S${site}`);
    // 32 s have passed so far.
    expect(requests()).toBe(1 + 2);
    expect(recorder.of("refresh_suppressed").map(({ reason }) => reason)).toContain("limited");
  });

  it("does not count refreshes that cured several requests", async () => {
    const { replicas, refuse, clock, requests } = stageReplicas(2);
    for (let revocation = 0; revocation < 6; revocation++) {
      for (const replica of replicas) {
        const newer = await Promise.all([1, 2, 3].map(() => refuse(replica, "S1")));
        for (const token of newer) {
          if (typeof token === "string") throw new Error("not cured");
          replica.cured(token, "S1");
        }
      }
      await clock.advance(100);
    }
    expect(requests()).toBeGreaterThan(6);
  });
});

/** Row 100. */
describe("replicas that each have their own assertion file", () => {
  const token = {
    url: undefined,
    clientAuth: { method: "assertion", file: "/run/token" },
    body: "form",
    scope: undefined,
    resource: undefined,
    extra: {},
    lifetimeMs: undefined,
  } as const;

  it("get a token at once though one of them is refused with a stale file, and then share it with that one", async () => {
    const { clock, login, openReplica, get } = stageTokens();
    const [stale, good] = [openReplica({ token }).source, openReplica({ token }).source];
    login.next(answered(401, '{"error":"invalid_client"}'));
    await expect(get(stale)).rejects.toMatchObject({ code: "credentials_refused" });
    expect(await get(good)).toBe("token_2");
    await clock.advance(10_000);
    expect(await get(stale)).toBe("token_2");
    expect(login.requests).toBe(2);
  });

  it("use their token until it expires while the file is missing, and request a new one once the file is back", async () => {
    const { clock, login, recorder, openReplica, get } = stageTokens();
    const { source } = openReplica({ token });
    expect(await get(source)).toBe("token_1");
    const read = login.assertion;
    login.assertion = { kind: "failed", cause: "assertion file /run/token: ENOENT" };
    await clock.advance(0.9 * hourMs);
    expect(await get(source)).toBe("token_1");
    expect(login.requests).toBe(1);
    expect(recorder.of("token_requested").at(-1)).toMatchObject({
      result: "failed",
      cause: "assertion file /run/token: ENOENT",
    });
    login.assertion = read;
    await clock.advance(30_000);
    expect(await get(source)).toBe("token_2");
  });
});
