/** Every combination of the state of a set's token, the decision for it, and the action of its timer. docs/tokens.md shows the states. */
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

const paused: RefreshResult = {
  kind: "paused",
  pause: { kind: "refused", untilMs: nowMs + 10_000, status: 401 },
};
const suppressed: RefreshResult = { kind: "suppressed", reason: "limited" };
const origin = { issuedHere: true, reason: "missing" } as const;

it.each<{ name: Named; nobody: string; another: string }>([
  { name: "none", nobody: "wait", another: "wait" },
  { name: "new", nobody: "use", another: "use" },
  { name: "all but due", nobody: "use", another: "use" },
  { name: "just due", nobody: "use_and_refresh", another: "use" },
  { name: "due to its last ms", nobody: "use_and_refresh", another: "use" },
  { name: "at its end", nobody: "wait", another: "wait" },
  { name: "dead", nobody: "wait", another: "wait" },
])(
  "decide, with a token that is $name, returns $nobody, and $another while the refresh is left to another process",
  (row) => {
    const token = tokens[row.name];
    const decided = (leftToAnotherUntilMs: number) =>
      decide(stateWith({ token, leftToAnotherUntilMs }), { nowMs, thresholds });
    const expected = (kind: string) => (kind === "wait" ? { kind } : { kind, token });
    for (const untilMs of [0, nowMs]) expect(decided(untilMs)).toEqual(expected(row.nobody));
    expect(decided(nowMs + 1)).toEqual(expected(row.another));
  },
);

it.each<{ name: Named; anOlder: string }>([
  { name: "none", anOlder: "wait" },
  { name: "new", anOlder: "use" },
  { name: "just due", anOlder: "use_and_refresh" },
  { name: "at its end", anOlder: "wait" },
])(
  "decide, with a token that is $name, returns $anOlder if the token must be newer than an older one, else wait",
  (row) => {
    const decided = (newerThan: Token) =>
      decide(stateWith({ token: tokens[row.name] }), { nowMs, thresholds, newerThan }).kind;
    expect(decided(token("older", dueAgeMs * 2))).toBe(row.anOlder);
    expect(decided(token("newer", -1))).toBe("wait");
    // The same token, since another process may know another age of it.
    expect(decided(token("a", 2 * lifetimeMs))).toBe("wait");
  },
);

const obstacles = { no: undefined, "a paused": paused, "a suppressed": suppressed };

it.each<[name: Named, obstacle: keyof typeof obstacles, readMsAgo: number, expected: string]>([
  ["none", "no", 999, "wait"],
  ["none", "a paused", 999, "unavailable"],
  ["none", "a paused", 1_000, "wait"],
  ["none", "a paused", Number.POSITIVE_INFINITY, "wait"],
  ["none", "a suppressed", 99, "unavailable"],
  ["none", "a suppressed", 100, "wait"],
  ["new", "a paused", 999, "use"],
  ["new", "a paused", 1_000, "use"],
  ["just due", "a paused", 999, "use_and_refresh"],
  ["just due", "a suppressed", Number.POSITIVE_INFINITY, "use_and_refresh"],
  ["at its end", "a paused", 999, "unavailable"],
  ["at its end", "a paused", 1_000, "wait"],
  ["dead", "a suppressed", 99, "unavailable"],
])("decide, with a token that is %s, %s refresh and shared state read %s ms ago, returns %s", (...row) => {
  const [name, which, readMsAgo, expected] = row;
  const obstacle = obstacles[which];
  const state = stateWith({ token: tokens[name], lastRefreshMs: nowMs - readMsAgo });
  const decision = decide(state, { nowMs, thresholds, obstacle });
  expect(decision.kind).toBe(expected);
  if (decision.kind === "unavailable") expect(decision.obstacle).toBe(obstacle);
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
  ])("that is $formerly, with a present one that is $name", ({ name, formerly, any, orFormer }) => {
    const state = stateWith({ token: tokens[name], formerToken: former(formerly) });
    const used = (situation: { orFormer?: boolean }) => {
      const decision = decide(state, { nowMs, thresholds, ...situation });
      if (!("token" in decision)) return decision.kind;
      return decision.token.id === "former" ? "former" : "present";
    };
    expect({ any: used({}), orFormer: used({ orFormer: true }) }).toEqual({ any, orFormer });
  });

  const given = token("given", 10_000, "S1/green");
  const from = { refusedToken: given, lastUsedMs: 77, origin };
  it.each<[string, before: Partial<TokenState>, from: Partial<TokenState>, isTaken: boolean]>([
    ["no token is", {}, {}, false],
    ["the token of the former set is", {}, { token: given }, true],
    ["the token of the set before the former one is", {}, { formerToken: given }, true],
    ["no token in addition to a present one is", { token: token("own", 9_000) }, { token: given }, false],
    ["no token in addition to a newer former one is", { formerToken: token("newer", 0) }, { token: given }, false],
    ["the token is, in place of an older former one,", { formerToken: token("older", 20_000) }, { token: given }, true],
  ])("%s taken over at a reload", (_, state, former, isTaken) => {
    const before = stateWith({ ...state, wakeNotBeforeMs: undefined });
    const taken = {
      formerToken: { ...given, credential: "S1/blue" },
      refusedToken: given,
      wakeNotBeforeMs: 0,
      origin: { issuedHere: false, reason: "reload" },
    };
    const after = succeed(before, stateWith({ ...from, ...former }), "S1/blue");
    expect(after).toEqual({ ...before, lastUsedMs: 77, ...(isTaken ? taken : {}) });
  });

  it("keeps its origin if its label stays", () => {
    const from = stateWith({ token: token("given", 10_000), origin });
    expect(succeed(initialState, from, "S1/blue").origin).toEqual(origin);
  });

  it("is dropped as soon as there is a token of the present secret", () => {
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
  ])("%s is accepted or refused", (_, held, issuedHere, next, isTaken) => {
    const before = stateWith({ token: held, wakeNotBeforeMs: undefined });
    const after = adopt(before, next, { issuedHere, reason: "due" });
    if (!isTaken) expect(after).toBe(before);
    else expect(after).toEqual({ ...before, token: next, origin: { issuedHere, reason: "due" }, wakeNotBeforeMs: 0 });
  });

  it("another cache's token of the same secret gets the new label, and keeps its 401 and the time of its use", () => {
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
    ["if it is the newest that got a 401", { token: present, refusedToken: present }, true],
    ["if a newer one got a 401", { token: present, refusedToken: token("b", 9) }, true],
    ["though it is the former secret's", { formerToken: present, refusedToken: present }, true],
    ["not if an older one got a 401", { token: present, refusedToken: token("b", 11) }, false],
    ["not if no token got a 401", { token: present }, false],
    ["not if there is no token", { refusedToken: present }, false],
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
    ["that brought a token, this token is in use", brought(newer), inUse(true)],
    ["that found a token, this token is in use", brought(newer, false), inUse(false)],
    [
      "that brought an older token, the next refresh comes in a second",
      brought(older),
      { wakeNotBeforeMs: nowMs + 1_000 },
    ],
    ["that was paused, the next refresh waits for the end of the pause", paused, { wakeNotBeforeMs: nowMs + 10_000 }],
    ["that was suppressed, the next refresh comes in a second", suppressed, { wakeNotBeforeMs: nowMs + 1_000 }],
    [
      "that is left to another process, this process has 1 to 3 s",
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
  const never = Number.POSITIVE_INFINITY;
  it.each<[string, notBeforeMs: number | undefined, withToken: number | undefined, without: number | undefined]>([
    ["the end of a pause", dueMs - 5, dueMs, dueMs - 5],
    ["the end of a pause in the due zone", dueMs + 5, dueMs + 5, dueMs + 5],
    ["the end of a pause beyond the token's expiry", endMs + 5, endMs, endMs + 5],
    ["ever", never, endMs, undefined],
    ["the end of its refresh", undefined, undefined, undefined],
    ["now", 0, dueMs, 0],
  ])("wakes, if no refresh may come before %s, at %s: %s with a token, else %s", (_, wakeNotBeforeMs, ...expected) => {
    const [withToken, without] = expected;
    const wakes = (change: Partial<TokenState>) => nextWakeAt(stateWith({ ...change, wakeNotBeforeMs }), thresholds);
    expect(wakes({ token: tokens.new })).toBe(withToken);
    expect(wakes({ formerToken: tokens.new })).toBe(withToken);
    expect(wakes({})).toBe(without);
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

function token(id: string, ageMs: number, credential = "S1/blue"): Token {
  return {
    secret: new Secret(id),
    id,
    credential,
    issuedAtMs: nowMs - ageMs,
    issuedWithinMs: 0,
    lifetimeMs,
    isRepeated: false,
  };
}

type Named = keyof typeof tokens;

function stateWith(change: Partial<TokenState>): TokenState {
  return { ...initialState, ...change };
}
