/** Tokens revoked again and again, each new one good at once. No order gets more than the 401 that its retry cures. */
import { describe, expect, it } from "vitest";
import { createMemoryRefreshLock, createMemoryTokenStore } from "../../../src/adapters/memory/token-store.ts";
import type { CredentialFailover } from "../../../src/oauth/credential-failover.ts";
import type { TokenStore } from "../../../src/oauth/token-store.ts";
import { openSiteTokens, show } from "../../../testkit/site-tokens.ts";

describe.each([
  ["each 12 s, two orders a second", 12, 12_000, 500],
  ["each 12 s, one order a second", 12, 12_000, 1_000],
  ["each minute, one order a second", 16, 60_000, 1_000],
  ["each minute, two orders a second", 16, 60_000, 500],
] as const)("revocations %s", (_, revocations, apartMs, everyMs) => {
  it.each([1, 4])("use one token each, and no order fails, over %i replicas", async (count) => {
    const { source, openSource, login, play, revoke, failed } = stageRevocations();
    const sources = [source, ...Array.from({ length: count - 1 }, openSource)];
    await play(sources, 20_000, everyMs);
    for (let n = 0; n < revocations; n++) {
      revoke();
      await play(sources, apartMs, everyMs);
    }
    expect(await failed()).toBe(0);
    expect(login.requests).toBe(1 + revocations);
  });

  it("fail no order of a caller that sends one after the other", async () => {
    const { source, login, playInARow, revoke, failed } = stageRevocations();
    await playInARow(source, 20_000, everyMs);
    for (let n = 0; n < revocations; n++) {
      revoke();
      await playInARow(source, apartMs, everyMs);
    }
    expect(await failed()).toBe(0);
    expect(login.requests).toBe(1 + revocations);
  });
});

/** Four replicas whose shared store goes away and comes back. Each has a lock and a store of its own meanwhile. */
function stageOutages() {
  const stage = stageRevocations();
  const { clock, openReplica, store } = stage;
  let isAway = false;
  const open = () => {
    const own = createMemoryTokenStore(clock);
    const there = () => (isAway ? own : store);
    const away: TokenStore = {
      read: (key, names) => there().read(key, names),
      readPause: (key) => there().readPause(key),
      save: (key, token, ageMs) => there().save(key, token, ageMs),
      pause: (key, pause) => there().pause(key, pause),
      countForced: (key, counts) => there().countForced(key, counts),
      forget: (key) => there().forget(key),
    };
    const [sharedLock, ownLock] = [stage.lock, createMemoryRefreshLock()];
    const lock = { tryAcquire: (key: string) => (isAway ? ownLock : sharedLock).tryAcquire(key) };
    return openReplica({ store: away, lock });
  };
  const replicas = Array.from({ length: 4 }, open);
  /** @param seenAfterMs how long each replica takes to see that the store is back */
  const comeBack = (seenAfterMs: readonly number[]) => {
    isAway = false;
    for (const [n, { members }] of replicas.entries()) {
      clock.after(seenAfterMs[n] ?? 0, () => {
        for (const member of members) member.source.resync();
      });
    }
  };
  const goAway = () => {
    isAway = true;
  };
  return { ...stage, sources: replicas.map(({ source }) => source), goAway, comeBack };
}

describe("after an outage of the shared store in which each replica got a token of its own", () => {
  it("all replicas have one token three seconds later, and a revocation then fails no order, 20 times in a row", async () => {
    const { sources, deadline, login, play, revoke, goAway, comeBack, failed } = stageOutages();
    await play(sources, 2_000, 250);
    for (let round = 0; round < 20; round++) {
      goAway();
      revoke();
      await play(sources, 12_000, 250);
      comeBack([0, 300, 600, 900]);
      await play(sources, 3_000, 250);
      const tokens = await Promise.all(sources.map(async (source) => show(await source.get(deadline()))));
      expect(new Set(tokens).size, tokens.join(" ")).toBe(1);
      const before = login.requests;
      revoke();
      await play(sources, 12_000, 250);
      expect(login.requests).toBe(before + 1);
    }
    expect(await failed()).toBe(0);
  });

  it("a revocation right at the end of the outage fails no order, though the store has another dead token", async () => {
    const { sources, play, revoke, goAway, comeBack, failed } = stageOutages();
    await play(sources, 2_000, 250);
    for (let round = 0; round < 20; round++) {
      goAway();
      revoke();
      await play(sources, 12_000, 250);
      comeBack([0, 300, 600, 900]);
      await play(sources, 100 * round, 50);
      revoke();
      await play(sources, 12_000, 250);
    }
    expect(await failed()).toBe(0);
  });
});

/** The service takes tokens from number `oldest` on. */
function stageRevocations() {
  const stage = openSiteTokens();
  const { clock, login, order, deadline } = stage;
  let oldest = 1;
  const takes = (token: string) => Number(token.split("_")[1]) >= oldest;
  const statuses: Promise<number>[] = [];
  /** Sends an order through each source in turn, whether or not the last one has its answer. */
  const play = async (sources: readonly CredentialFailover[], forMs: number, everyMs: number) => {
    for (let n = 0; n * everyMs < forMs; n++) {
      statuses.push(order(takes, "S1", sources[n % sources.length]));
      await clock.advance(everyMs);
    }
  };
  /** The same, but each order waits for the answer of the last one. */
  const playInARow = async (source: CredentialFailover, forMs: number, everyMs: number) => {
    for (const untilMs = clock.nowMs() + forMs; clock.nowMs() < untilMs; ) {
      let isOpen = true;
      const answer = order(takes, "S1", source).finally(() => {
        isOpen = false;
      });
      statuses.push(answer);
      do await clock.advance(everyMs);
      while (isOpen);
    }
  };
  const revoke = () => {
    oldest = login.requests + 1;
  };
  const failed = async () => {
    await clock.advance(20_000);
    return (await Promise.all(statuses)).filter((status) => status !== 200).length;
  };
  return { ...stage, deadline, play, playInARow, revoke, failed };
}
