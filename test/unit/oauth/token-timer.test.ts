/** What a set's timer does, and when a refresh or its own action sets it again. docs/tokens.md describes it. */
import { describe, expect, it } from "vitest";
import type { RefreshResult } from "../../../src/oauth/refresh.ts";
import type { Token } from "../../../src/oauth/token.ts";
import {
  afterRefresh,
  afterWake,
  decideOnWake,
  nextWakeAt,
  type TokenState,
  type WakeAction,
} from "../../../src/oauth/token-state.ts";
import {
  dueAgeMs,
  endAgeMs,
  lifetimeMs,
  type Named,
  nowMs,
  paused,
  stateWith,
  suppressed,
  thresholds,
  token,
  tokens,
} from "./token-states.ts";

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
