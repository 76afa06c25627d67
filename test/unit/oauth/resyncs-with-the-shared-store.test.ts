/** Replicas that got separate tokens while the shared store was away have one token again when it is back. */
import { describe, expect, it } from "vitest";
import { createMemoryRefreshLock, createMemoryTokenStore } from "../../../src/adapters/memory/token-store.ts";
import { answered } from "../../../testkit/token-endpoint-script.ts";
import { hourMs, keyOfBlue, stageTokens } from "../../../testkit/token-stage.ts";

describe("when the shared store is back", () => {
  /** Two replicas with separate tokens, as while Redis is away. */
  async function stageDiverged() {
    const stage = stageTokens();
    const open = () => {
      let isAway = true;
      const own = createMemoryTokenStore(stage.clock);
      const there = () => (isAway ? own : stage.store);
      const store = {
        read: (key: string) => there().read(key),
        save: (...given: Parameters<typeof own.save>) => there().save(...given),
        pause: (...given: Parameters<typeof own.pause>) => there().pause(...given),
        countForced: (...given: Parameters<typeof own.countForced>) => there().countForced(...given),
        forget: (key: string) => there().forget(key),
      };
      const { source, members } = stage.openReplica({ store, lock: createMemoryRefreshLock() });
      const resync = () => {
        isAway = false;
        for (const member of members) member.source.resync();
      };
      const close = () => Promise.all(members.map((member) => member.source.close()));
      return { source, resync, close };
    };
    return { ...stage, one: open(), other: open(), open };
  }

  it("each publishes its token, and the newest stays", async () => {
    const { one, other, clock, get, store } = await stageDiverged();
    await get(one.source);
    await clock.advance(1_000);
    await get(other.source);
    other.resync();
    await clock.advance(1_000);
    one.resync();
    await clock.advance(1_000);
    expect((await store.read(keyOfBlue)).token?.secret.reveal()).toBe("token_2");
    expect(await get(one.source)).toBe("token_2");
    expect((await store.read(keyOfBlue)).token?.remainingMs).toBe(hourMs - 2_000);
  });

  it("a set that was closed meanwhile publishes nothing", async () => {
    const { one, clock, get, store } = await stageDiverged();
    await get(one.source);
    one.resync();
    await one.close();
    await clock.advance(1_000);
    expect((await store.read(keyOfBlue)).token).toBeUndefined();
  });

  it("a token that the service has refused is not published", async () => {
    const { one, clock, deadline, login, replace, store } = await stageDiverged();
    const token = await one.source.get(deadline());
    login.next(answered(429, "", "60"));
    expect(await replace(token, "S1", one.source)).toBe("no_token");
    one.resync();
    await clock.advance(1_000);
    expect((await store.read(keyOfBlue)).token).toBeUndefined();
  });

  it("a token that other sites use successfully is published, though one site gets only 401", async () => {
    const { one, clock, deadline, get, replace, store } = await stageDiverged();
    const first = await one.source.get(deadline());
    one.source.accepted(first, "good");
    const second = await replace(first, "bad", one.source);
    if (typeof second === "string") throw new Error("a second token");
    one.source.accepted(await one.source.get(deadline()), "good");
    expect(await one.source.replace(second, "bad", deadline())).toBe("paused");
    one.resync();
    await clock.advance(2_000);
    expect(await get(one.source)).toBe("token_2");
    expect((await store.read(keyOfBlue)).token?.secret.reveal()).toBe("token_2");
  });

  it("the next refresh is one for all replicas", async () => {
    const { one, other, clock, get, login } = await stageDiverged();
    await get(one.source);
    await clock.advance(1_000);
    await get(other.source);
    one.resync();
    other.resync();
    await clock.advance(0.84 * hourMs);
    await get(one.source);
    await get(other.source);
    await clock.advance(5_000);
    expect(new Set([await get(one.source), await get(other.source)])).toEqual(new Set(["token_3"]));
    expect(login.requests).toBe(3);
  });
});
