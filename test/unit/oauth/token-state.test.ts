/** Every combination that the state of a set's token may be in, what follows from it, and what its timer does. docs/tokens.md draws it. */
import { describe, expect, it } from "vitest";
import { Secret } from "../../../src/model/secret.ts";
import type { RefreshResult } from "../../../src/oauth/refresh.ts";
import type { Token } from "../../../src/oauth/token.ts";
import {
  adopt,
  adoptFrom,
  afterRefresh,
  afterWake,
  decide,
  decideOnWake,
  initialState,
  isRefusedByService,
  nextWakeAt,
  succeed,
  type TokenState,
  type WakeAction,
} from "../../../src/oauth/token-state.ts";

const thresholds = { dueShare: 0.84, leewayMs: 90_000 };
const lifetimeMs = 3_600_000;
const nowMs = 100_000_000;
const dueAgeMs = 0.84 * lifetimeMs;
const endAgeMs = lifetimeMs - 90_000;

function token(id: string, ageMs: number, credential = "S1/blue"): Token {
  return { secret: new Secret(id), id, credential, issuedAtMs: nowMs - ageMs, lifetimeMs };
}

/** Tokens at both edges of each zone. */
const tokens = {
  none: undefined,
  new: token("a", 0),
  "all but due": token("a", dueAgeMs - 1),
  "just due": token("a", dueAgeMs),
  "due to its last ms": token("a", endAgeMs - 1),
  "at its end": token("a", endAgeMs),
  dead: token("a", lifetimeMs + 1),
} as const;
type Named = keyof typeof tokens;

const paused: RefreshResult = {
  kind: "paused",
  pause: { kind: "refused", untilMs: nowMs + 10_000, status: 401 },
};
const suppressed: RefreshResult = { kind: "suppressed", reason: "limited" };
const origin = { issuedHere: true, reason: "missing" } as const;

function stateWith(change: Partial<TokenState>): TokenState {
  return { ...initialState, ...change };
}

it.each<{ name: Named; left: string; expected: string }>([
  { name: "none", left: "to none", expected: "wait" },
  { name: "none", left: "to another", expected: "wait" },
  { name: "new", left: "to none", expected: "use" },
  { name: "new", left: "to another", expected: "use" },
  { name: "all but due", left: "to none", expected: "use" },
  { name: "all but due", left: "to another", expected: "use" },
  { name: "just due", left: "to none", expected: "use_and_refresh" },
  { name: "just due", left: "to another till now", expected: "use_and_refresh" },
  { name: "just due", left: "to another", expected: "use" },
  { name: "due to its last ms", left: "to none", expected: "use_and_refresh" },
  { name: "due to its last ms", left: "to another till now", expected: "use_and_refresh" },
  { name: "due to its last ms", left: "to another", expected: "use" },
  { name: "at its end", left: "to none", expected: "wait" },
  { name: "at its end", left: "to another", expected: "wait" },
  { name: "dead", left: "to none", expected: "wait" },
  { name: "dead", left: "to another", expected: "wait" },
])(
  "decide, for a request that takes any token, with a token that is $name and left $left says $expected",
  ({ name, left, expected }) => {
    const leftToAnotherUntilMs = { "to none": 0, "to another till now": nowMs, "to another": nowMs + 1 }[left] ?? 0;
    const state = stateWith({ token: tokens[name], leftToAnotherUntilMs });
    expect(decide(state, { nowMs, thresholds })).toEqual(
      expected === "wait" ? { kind: "wait" } : { kind: expected, token: tokens[name] },
    );
  },
);

describe("decide, for a request that takes only a newer token,", () => {
  const older = token("older", dueAgeMs * 2);
  const newer = token("newer", -1);
  it.each<{ name: Named; than: string; newerThan: Token; expected: string }>([
    { name: "none", than: "an older one", newerThan: older, expected: "wait" },
    { name: "new", than: "an older one", newerThan: older, expected: "use" },
    { name: "new", than: "itself", newerThan: token("a", 5_000), expected: "wait" },
    { name: "new", than: "a newer one", newerThan: newer, expected: "wait" },
    { name: "just due", than: "an older one", newerThan: older, expected: "use_and_refresh" },
    { name: "just due", than: "itself", newerThan: tokens["just due"], expected: "wait" },
    { name: "just due", than: "a newer one", newerThan: newer, expected: "wait" },
    { name: "at its end", than: "an older one", newerThan: older, expected: "wait" },
    { name: "at its end", than: "itself", newerThan: tokens["at its end"], expected: "wait" },
    { name: "at its end", than: "a newer one", newerThan: newer, expected: "wait" },
  ])("says $expected where one that is $name is there and it must be newer than $than", (row) => {
    const decision = decide(stateWith({ token: tokens[row.name] }), { nowMs, thresholds, newerThan: row.newerThan });
    expect(decision.kind).toBe(row.expected);
  });
});

describe("decide, with an obstacle,", () => {
  const read = {
    "0.099 s ago": nowMs - 99,
    "0.1 s ago": nowMs - 100,
    "0.999 s ago": nowMs - 999,
    "1 s ago": nowMs - 1_000,
    never: Number.NEGATIVE_INFINITY,
  };
  it.each<{ name: Named; obstacle: RefreshResult | undefined; ago: keyof typeof read; expected: string }>([
    { name: "none", obstacle: undefined, ago: "0.999 s ago", expected: "wait" },
    { name: "none", obstacle: paused, ago: "0.999 s ago", expected: "unavailable" },
    { name: "none", obstacle: paused, ago: "1 s ago", expected: "wait" },
    { name: "none", obstacle: paused, ago: "never", expected: "wait" },
    { name: "none", obstacle: suppressed, ago: "0.099 s ago", expected: "unavailable" },
    { name: "none", obstacle: suppressed, ago: "0.1 s ago", expected: "wait" },
    { name: "new", obstacle: paused, ago: "0.999 s ago", expected: "use" },
    { name: "new", obstacle: paused, ago: "1 s ago", expected: "use" },
    { name: "just due", obstacle: paused, ago: "0.999 s ago", expected: "use_and_refresh" },
    { name: "just due", obstacle: suppressed, ago: "never", expected: "use_and_refresh" },
    { name: "at its end", obstacle: paused, ago: "0.999 s ago", expected: "unavailable" },
    { name: "at its end", obstacle: paused, ago: "1 s ago", expected: "wait" },
    { name: "dead", obstacle: suppressed, ago: "0.099 s ago", expected: "unavailable" },
  ])("a token that is $name and shared state read $ago says $expected", ({ name, obstacle, ago, expected }) => {
    const state = stateWith({ token: tokens[name], lastRefreshMs: read[ago] });
    const decision = decide(state, { nowMs, thresholds, obstacle });
    expect(decision.kind).toBe(expected);
    if (decision.kind === "unavailable") expect(decision.obstacle).toBe(obstacle);
  });
});

describe("the former secret's token", () => {
  const former = (name: Named) => (tokens[name] === undefined ? undefined : { ...tokens[name], id: "former" });
  it.each<{ name: Named; formerly: Named; any: string; orFormer: string }>([
    { name: "none", formerly: "none", any: "wait", orFormer: "wait" },
    { name: "none", formerly: "new", any: "wait", orFormer: "former" },
    { name: "none", formerly: "just due", any: "wait", orFormer: "former" },
    { name: "none", formerly: "at its end", any: "wait", orFormer: "wait" },
    { name: "new", formerly: "new", any: "present", orFormer: "present" },
    { name: "just due", formerly: "new", any: "present", orFormer: "present" },
    { name: "at its end", formerly: "new", any: "wait", orFormer: "wait" },
  ])("that is $formerly beside a present one that is $name", ({ name, formerly, any, orFormer }) => {
    const state = stateWith({ token: tokens[name], formerToken: former(formerly) });
    const used = (situation: { orFormer?: boolean }) => {
      const decision = decide(state, { nowMs, thresholds, ...situation });
      if (!("token" in decision)) return decision.kind;
      return decision.token.id === "former" ? "former" : "present";
    };
    expect({ any: used({}), orFormer: used({ orFormer: true }) }).toEqual({ any, orFormer });
  });

  it.each<{ present: string; offered: string; expected: string }>([
    { present: "no token", offered: "none", expected: "none" },
    { present: "no token", offered: "of the set before", expected: "taken" },
    { present: "no token", offered: "of a set before that set", expected: "taken" },
    { present: "a token", offered: "of the set before", expected: "not taken" },
    { present: "a newer former token", offered: "of the set before", expected: "not taken" },
    { present: "an older former token", offered: "of the set before", expected: "taken" },
  ])("$offered is $expected by a set with $present", ({ present, offered, expected }) => {
    const before = stateWith({
      token: present === "a token" ? token("own", 9_000) : undefined,
      formerToken: {
        "a newer former token": token("newer", 0),
        "an older former token": token("older", 20_000),
      }[present],
      wakeNotBeforeMs: undefined,
    });
    const given = token("given", 10_000, "S1/green");
    const from = stateWith({
      token: offered === "of the set before" ? given : undefined,
      formerToken: offered === "of a set before that set" ? given : undefined,
      refusedToken: given,
      lastUsedMs: 77,
      origin,
    });
    const after = succeed(before, from, "S1/blue");
    expect(after.lastUsedMs).toBe(77);
    if (expected !== "taken") {
      expect(after).toEqual({ ...before, lastUsedMs: 77 });
      return;
    }
    expect(after).toMatchObject({
      token: undefined,
      formerToken: { id: "given", credential: "S1/blue" },
      refusedToken: given,
      wakeNotBeforeMs: 0,
      origin: { issuedHere: false, reason: "reload" },
    });
  });

  it("keeps its origin where its label stays", () => {
    const from = stateWith({ token: token("given", 10_000), origin });
    expect(succeed(initialState, from, "S1/blue").origin).toEqual(origin);
  });

  it("goes as soon as there is a token of the present secret", () => {
    const state = stateWith({ formerToken: token("former", 0) });
    expect(adopt(state, token("present", 5_000), origin)).toMatchObject({ token: { id: "present" } });
    expect(adopt(state, token("present", 5_000), origin).formerToken).toBeUndefined();
  });
});

describe("the newest token wins:", () => {
  const present = token("present", 10_000);
  it.each([
    ["the first token", undefined, false, token("next", 20_000), true],
    ["a newer one", present, false, token("next", 9_999), true],
    ["an older one", present, true, token("next", 10_001), false],
    ["one of its age", present, true, token("next", 10_000), false],
    ["itself", present, false, token("present", 9_000), false],
    ["itself, issued again", present, true, token("present", 9_000), true],
  ])("%s is taken, or not", (_, held, issuedHere, next, isTaken) => {
    const before = stateWith({ token: held, wakeNotBeforeMs: undefined });
    const after = adopt(before, next, { issuedHere, reason: "due" });
    if (!isTaken) expect(after).toBe(before);
    else expect(after).toEqual({ ...before, token: next, origin: { issuedHere, reason: "due" }, wakeNotBeforeMs: 0 });
  });

  it("another cache's token of the same secret takes the new label, its 401 and its use along", () => {
    const from = stateWith({ token: token("given", 10, "S1/green"), refusedToken: present, lastUsedMs: 77 });
    expect(adoptFrom(initialState, from, "S1/blue")).toMatchObject({
      token: { id: "given", credential: "S1/blue" },
      origin: { issuedHere: false, reason: "reload" },
      refusedToken: present,
      lastUsedMs: 77,
    });
    expect(adoptFrom(initialState, stateWith({ formerToken: present, lastUsedMs: 77 }), "S1/blue")).toBe(initialState);
  });
});

describe("a token is refused by the service", () => {
  const present = token("present", 10);
  it.each<[name: string, state: Partial<TokenState>, expected: boolean]>([
    ["when it is the newest that got a 401", { token: present, refusedToken: present }, true],
    ["when a newer one got a 401", { token: present, refusedToken: token("b", 9) }, true],
    ["though it is the former secret's", { formerToken: present, refusedToken: present }, true],
    ["not when an older one got a 401", { token: present, refusedToken: token("b", 11) }, false],
    ["not when none did", { token: present }, false],
    ["not when there is none", { refusedToken: present }, false],
  ])("%s", (_, state, expected) => {
    expect(isRefusedByService(stateWith(state))).toBe(expected);
  });
});

describe("after a refresh", () => {
  const present = token("present", dueAgeMs);
  const before = stateWith({ token: present, wakeNotBeforeMs: undefined, leftToAnotherUntilMs: 5, lastUsedMs: 7 });
  const newer = token("newer", 0);
  const older = token("older", dueAgeMs + 1);
  const left = nowMs + 1_000 + 2_000 * 0.25;
  const brought = (token: Token, issuedHere = true) => ({ kind: "token", token, issuedHere }) as const;
  const inUse = (issuedHere: boolean) => {
    return { token: newer, origin: { issuedHere, reason: "due" }, wakeNotBeforeMs: 0 } as const;
  };
  it.each<[name: string, result: RefreshResult, change: Partial<TokenState>]>([
    ["that brought a token, it is in use", brought(newer), inUse(true)],
    ["that found a token, it is in use", brought(newer, false), inUse(false)],
    ["that brought an older token, the next comes in a second", brought(older), { wakeNotBeforeMs: nowMs + 1_000 }],
    ["that was paused, the next waits for the end", paused, { wakeNotBeforeMs: nowMs + 10_000 }],
    ["that was suppressed, the next comes in a second", suppressed, { wakeNotBeforeMs: nowMs + 1_000 }],
    [
      "that is another process's, it has 1 to 3 s",
      { kind: "left_to_another" },
      { leftToAnotherUntilMs: left, wakeNotBeforeMs: left },
    ],
  ])("%s", (_, result, change) => {
    const after = afterRefresh(before, result, "due", nowMs, () => 0.25);
    expect(after).toEqual({ ...before, lastRefreshMs: nowMs, ...change });
  });
});

describe("the timer", () => {
  const startMs = nowMs;
  const dueMs = startMs + dueAgeMs;
  const endMs = startMs + endAgeMs;
  it.each<{ token: string; notBefore: string; notBeforeMs: number | undefined; expected: number | undefined }>([
    { token: "no", notBefore: "the end of a pause", notBeforeMs: dueMs - 5, expected: dueMs - 5 },
    { token: "no", notBefore: "ever", notBeforeMs: Number.POSITIVE_INFINITY, expected: undefined },
    { token: "a present", notBefore: "now", notBeforeMs: 0, expected: dueMs },
    { token: "a former", notBefore: "now", notBeforeMs: 0, expected: dueMs },
    {
      token: "a present",
      notBefore: "the end of a pause in the due zone",
      notBeforeMs: dueMs + 5,
      expected: dueMs + 5,
    },
    { token: "a present", notBefore: "the end of a pause beyond its end", notBeforeMs: endMs + 5, expected: endMs },
    { token: "a present", notBefore: "ever", notBeforeMs: Number.POSITIVE_INFINITY, expected: endMs },
    { token: "a former", notBefore: "ever", notBeforeMs: Number.POSITIVE_INFINITY, expected: endMs },
    { token: "a present", notBefore: "the end of its refresh", notBeforeMs: undefined, expected: undefined },
    { token: "no", notBefore: "the end of its refresh", notBeforeMs: undefined, expected: undefined },
  ])("for $token token and no refresh before $notBefore", ({ token: which, notBeforeMs, expected }) => {
    const state = stateWith({
      token: which === "a present" ? tokens.new : undefined,
      formerToken: which === "a former" ? tokens.new : undefined,
      wakeNotBeforeMs: notBeforeMs,
    });
    expect(nextWakeAt(state, thresholds)).toBe(expected);
  });

  it.each<{ name: Named; used: string; expected: string }>([
    { name: "none", used: "never", expected: "refresh" },
    { name: "none", used: "just now", expected: "refresh" },
    { name: "just due", used: "never", expected: "sleep" },
    { name: "just due", used: "more than its lifetime ago", expected: "sleep" },
    { name: "just due", used: "its lifetime ago", expected: "refresh" },
    { name: "just due", used: "just now", expected: "refresh" },
    { name: "due to its last ms", used: "never", expected: "sleep" },
    { name: "due to its last ms", used: "just now", expected: "refresh" },
    { name: "at its end", used: "never", expected: "expire" },
    { name: "at its end", used: "just now", expected: "expire" },
    { name: "dead", used: "just now", expected: "expire" },
  ])("that fires for a token that is $name and was used $used: $expected", ({ name, used, expected }) => {
    const lastUsedMs = {
      "just now": nowMs,
      "its lifetime ago": nowMs - lifetimeMs,
      "more than its lifetime ago": nowMs - lifetimeMs - 1,
    }[used];
    const change = lastUsedMs === undefined ? {} : { lastUsedMs };
    expect(decideOnWake(stateWith({ token: tokens[name], ...change }), thresholds, nowMs)).toBe(expected);
    expect(decideOnWake(stateWith({ formerToken: tokens[name], ...change }), thresholds, nowMs)).toBe(expected);
  });
});

describe("after the timer's action", () => {
  const sleeps = { wakeNotBeforeMs: Number.POSITIVE_INFINITY };
  it.each<{ action: WakeAction; isRefreshing: boolean; untilMs: number | undefined; change: Partial<TokenState> }>([
    { action: "expire", isRefreshing: false, untilMs: undefined, change: { token: undefined, formerToken: undefined } },
    { action: "expire", isRefreshing: true, untilMs: 5, change: { token: undefined, formerToken: undefined } },
    { action: "sleep", isRefreshing: false, untilMs: undefined, change: sleeps },
    { action: "sleep", isRefreshing: true, untilMs: 5, change: sleeps },
    { action: "refresh", isRefreshing: true, untilMs: undefined, change: { wakeNotBeforeMs: undefined } },
    { action: "refresh", isRefreshing: true, untilMs: 5, change: { wakeNotBeforeMs: undefined } },
    { action: "refresh", isRefreshing: false, untilMs: 5, change: { wakeNotBeforeMs: 5 } },
    { action: "refresh", isRefreshing: false, untilMs: undefined, change: sleeps },
  ])("$action, refreshing: $isRefreshing, paused until $untilMs", ({ action, isRefreshing, untilMs, change }) => {
    const former = stateWith({ formerToken: tokens["just due"], lastUsedMs: 7 });
    const present = stateWith({ token: tokens["just due"], lastUsedMs: 7 });
    for (const state of [former, present]) {
      expect(afterWake(state, action, isRefreshing, untilMs)).toEqual({ ...state, ...change });
    }
  });

  it.each([
    { before: "no refresh", wakeNotBeforeMs: 0, expected: Number.POSITIVE_INFINITY },
    { before: "a refresh in vain", wakeNotBeforeMs: nowMs + 5, expected: nowMs + 5 },
    { before: "a refresh that runs still", wakeNotBeforeMs: undefined, expected: Number.POSITIVE_INFINITY },
  ])("expire, after $before: the next refresh not before $expected", ({ wakeNotBeforeMs, expected }) => {
    const state = stateWith({ token: tokens["at its end"], wakeNotBeforeMs });
    expect(afterWake(state, "expire", false).wakeNotBeforeMs).toBe(expected);
  });
});
