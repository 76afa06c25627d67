/** The content of a key's claim, and which repetitions are the same request. */
import { expect, it } from "vitest";
import { createMemoryClaimRecords } from "../../src/adapters/memory/claim-records.ts";
import { Claims, type ClaimTerms } from "../../src/claims/claim.ts";
import { systemClock } from "../../src/model/clock.ts";
import type { Secret } from "../../src/model/secret.ts";
import { OnceKey } from "../../src/orders/once.ts";
import type { Route } from "../../src/serving/messages.ts";
import { sealKey } from "../../testkit/redis-replica.ts";
import { openContext } from "./open-context.ts";

it("the claim has a digest of the request, not the request", async () => {
  const { claim, opened } = stage();
  for (const length of [1_000_000, 1_000_000, 1_000_001]) await claim("x".repeat(length));
  const [one, same, other] = opened.map(({ note }) => note);
  expect(one?.length).toBeLessThan(100);
  expect(same).toBe(one);
  expect(other).not.toBe(one);
});

it("compares digests made with an older key, and treats requests that it cannot compare as the same", async () => {
  const { claim } = stage();
  expect(await claim("a")).toBe("claimed");
  expect(await claim("a")).toBe("once_in_progress");
  expect(await claim("b")).toBe("once_key_reused");
  const rolled = [sealKey(8), sealKey()] as const;
  expect(await claim("a", rolled)).toBe("once_in_progress");
  expect(await claim("b", rolled)).toBe("once_key_reused");
  expect(await claim("b", [sealKey(8)])).toBe("once_in_progress");
});

function stage() {
  const claims = new Claims(createMemoryClaimRecords(systemClock), systemClock);
  const opened: ClaimTerms[] = [];
  const store = {
    open(terms: ClaimTerms) {
      opened.push(terms);
      return claims.open(terms);
    },
    find: () => Promise.resolve(undefined),
    decide: () => Promise.resolve(undefined),
  };
  const claim = async (value: string, digestKeys: readonly [Secret, ...Secret[]] = [sealKey()]) => {
    const route = { environment: { name: "sandbox" }, site: { identifier: "S1" }, operation: "create_order" } as Route;
    const parameters = new Map([["note", { name: "note", kind: "string", value, isPlain: true } as const]]);
    const context = openContext(systemClock, 1_000);
    const sealing = { seal: () => "sealed", open: () => undefined };
    const header = "Countersign-Once" as const;
    const rules = { shared: { claims: store, digestKeys, sealing }, lifetimeMs: 900_000, redisWaitMs: 0, header };
    const { admission } = context;
    return new OnceKey("order-1", route, parameters, rules, context, systemClock)
      .claim({ request: { isClosed: () => false }, isShutDown: false, deadlineMs: 0, admission })
      .then(
        () => "claimed",
        (error) => error.code,
      );
  };
  return { claim, opened };
}
