import { describe, expect, it } from "vitest";
import {
  Account,
  brokenPromises,
  type FleetEvent,
  judge,
  noTotals,
  type Promised,
  sumUp,
  type Totals,
} from "../../../scripts/demo-fleet/account.ts";
import { createChapters } from "../../../scripts/demo-fleet/chapters.ts";
import { readOptions } from "../../../scripts/demo-fleet/options.ts";

// The account of `npm run demo:fleet` is worth something only if it can say NOT KEPT: here every fact is made wrong once.

const answered = (durationMs: number, failure?: string): FleetEvent => ({ kind: "answered", durationMs, failure });
const requested = (replica: string, reason: "due" | "start", result: string): FleetEvent => {
  return { kind: "logged", replica, line: { event: "token_requested", reason, result } };
};
const issuedTo = (replica: string, reason: "due" | "start" = "due") => requested(replica, reason, "issued");
const taken = (replica: string, issuedHere = false): FleetEvent => {
  return { kind: "logged", replica, line: { event: "token_adopted", issuedHere } };
};
const counted = (tokensIssued: number, unauthorized: number, tokensInUse = 1): FleetEvent => {
  return { kind: "service_counted", counts: { tokensIssued, unauthorized, tokensInUse } };
};

function accountOf(...events: readonly FleetEvent[]): Account {
  const account = new Account();
  for (const event of events) account.add(event);
  return account;
}

describe("the account", () => {
  it("counts what callers, service and replicas say", () => {
    const { all } = accountOf(
      answered(3),
      answered(12.5),
      answered(7, "503 token_unavailable not_sent"),
      issuedTo("b", "start"),
      taken("b", true),
      taken("c"),
      taken("a"),
      taken("c"),
      counted(1, 2),
    );
    expect(all).toEqual({
      requests: 3,
      failed: 1,
      slowestMs: 12.5,
      unauthorized: 2,
      tokensIssued: 1,
      tokensInUse: 1,
      issues: [{ replica: "b", reason: "start" }],
      takers: ["a", "c"],
    });
  });

  it("counts no token for a request that brought none", () => {
    expect(accountOf(requested("a", "due", "timed_out")).all.issues).toEqual([]);
  });

  it("keeps a chapter apart from all so far", () => {
    const account = accountOf(answered(900), issuedTo("a", "start"), taken("b"), counted(1, 4));
    account.openChapter();
    expect(account.here).toEqual({ ...noTotals });
    for (const event of [answered(2), issuedTo("b"), counted(2, 5, 3)]) account.add(event);
    expect(account.here).toEqual({
      requests: 1,
      failed: 0,
      slowestMs: 2,
      unauthorized: 1,
      tokensIssued: 1,
      tokensInUse: 3,
      issues: [{ replica: "b", reason: "due" }],
      takers: [],
    });
    const { requests, slowestMs, unauthorized, tokensIssued, issues } = account.all;
    expect({ requests, slowestMs, unauthorized, tokensIssued }).toEqual({
      requests: 2,
      slowestMs: 900,
      unauthorized: 5,
      tokensIssued: 2,
    });
    expect(issues).toHaveLength(2);
  });
});

const one: Promised = { tokens: 1, reasons: ["due"], unauthorized: false, inUse: 1 };
const good: Totals = {
  requests: 500,
  failed: 0,
  slowestMs: 12.2,
  unauthorized: 0,
  tokensIssued: 1,
  tokensInUse: 1,
  issues: [{ replica: "c", reason: "due" }],
  takers: ["a", "b", "d"],
};

const wrongs: readonly (readonly [Partial<Totals>, string])[] = [
  [{ requests: 0 }, "requests: promised some, counted 0"],
  [{ failed: 1 }, "failed: promised 0, counted 1"],
  [{ unauthorized: 1 }, "401 answers: promised 0, counted 1"],
  [{ tokensInUse: 2 }, "tokens in use: promised 1, counted 2"],
  [{ issues: [{ replica: "c", reason: "expired" }] }, "why: promised due, counted expired (c); from Redis: a b d"],
  // A token that no log explains.
  [{ issues: [] }, "why: promised due, counted 1 lost; from Redis: a b d"],
];

describe("the judge", () => {
  it("finds nothing where all is as promised", () => {
    expect(brokenPromises(judge(one, good, good))).toEqual([]);
  });

  it.each(wrongs)("names the promise that is broken: %j", (wrong, sentence) => {
    expect(brokenPromises(judge(one, { ...good, ...wrong }, good))).toEqual([sentence]);
  });

  it("names a token too many, for any replica", () => {
    const issues = [...good.issues, { replica: "a", reason: "due" as const }];
    const rows = judge(one, { ...good, issues, tokensIssued: 2 }, good);
    expect(brokenPromises(rows)).toEqual(["tokens issued: promised 1, counted 2"]);
  });

  it("wants a 401 where tokens are revoked, or nothing was shown", () => {
    const rows = judge({ ...one, unauthorized: true }, good, good);
    expect(brokenPromises(rows)).toEqual(["401 answers: promised some, counted 0"]);
  });

  it("wants one token for each replica while they cannot share, not two for one of them", () => {
    const each: Promised = { ...one, tokens: 2, forEach: ["a", "b"], inUse: 2 };
    const own = (...replicas: string[]): Totals => ({
      ...good,
      tokensIssued: 2,
      tokensInUse: 2,
      takers: [],
      issues: replicas.map((replica) => ({ replica, reason: "due" })),
    });
    expect(brokenPromises(judge(each, own("b", "a"), good))).toEqual([]);
    expect(brokenPromises(judge(each, own("a", "a"), good))).toEqual([
      "why: promised due, once for each of a b, counted due (a a)",
    ]);
  });

  it("counts a token that its replica did not live to receive", () => {
    const killed: Promised = { ...one, tokens: 2, lost: 1 };
    expect(brokenPromises(judge(killed, { ...good, tokensIssued: 2 }, good))).toEqual([]);
    expect(brokenPromises(judge(killed, good, good))).toEqual([
      "tokens issued: promised 2, counted 1",
      "why: promised due, 1 lost, counted due (c); from Redis: a b d",
    ]);
  });
});

describe("the sum", () => {
  const all: Totals = {
    ...good,
    requests: 1_200,
    tokensIssued: 4,
    unauthorized: 3,
  };

  it("does not take an order too many, or too few, for a good sum", () => {
    expect(brokenPromises(sumUp(all, 1_201))).toEqual(["orders created: promised 1,200, counted 1,201"]);
    expect(brokenPromises(sumUp(all, 1_199))).toEqual(["orders created: promised 1,200, counted 1,199"]);
    expect(brokenPromises(sumUp({ ...all, failed: 1 }, 1_200))).toEqual(["failed: promised 0, counted 1"]);
  });
});

describe("a longer load", () => {
  it("promises one token more for each life that it lasts", () => {
    const tokensOf = (...args: string[]) => {
      const options = readOptions(args);
      if (options === undefined) throw new Error("no help was asked for");
      return createChapters(options).map(({ promised }) => promised.tokens);
    };
    expect(tokensOf("--once")).toEqual([1, 0, 1, 1, 4, 1, 2]);
    // 88 % of 20 s are 17.6 s.
    expect(tokensOf("--seconds", "17")).toEqual([1, 0, 1, 1, 4, 1, 2]);
    expect(tokensOf("--seconds", "18")).toEqual([1, 0, 2, 1, 4, 1, 2]);
    expect(tokensOf("--seconds", "60", "--token-lifetime", "10")).toEqual([1, 0, 7, 1, 4, 1, 2]);
  });
});
