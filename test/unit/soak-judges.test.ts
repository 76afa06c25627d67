import { expect, it } from "vitest";
import { Account, explain, type Failure, replicaAndSite } from "../../scripts/soak/account.ts";
import { everyFault, type Fault, schedule } from "../../scripts/soak/faults.ts";
import { Ledger } from "../../scripts/soak/ledger.ts";
import { measureGrowth, type Snapshot, slope } from "../../scripts/soak/memory.ts";
import { judgeOrder, type Logged, type Order, type Sighting } from "../../scripts/soak/order.ts";
import { type Findings, judge } from "../../scripts/soak/verdict.ts";
import type { Told } from "../../testkit/send-order.ts";

// The soak's judges: which observations they take for a broken promise, and which not.

const created: Told = { kind: "answered", status: 200, outcome: "answered", attempts: 1 };
const retried: Told = { kind: "answered", status: 200, outcome: "answered", attempts: 2 };
const passedOn: Told = { kind: "answered", status: 401, outcome: "answered", attempts: 1 };
const unavailable: Told = { kind: "answered", status: 503, outcome: "unknown", attempts: 1 };
const failed = (outcome: string, attempts = 1): Told => {
  return { kind: "failed", status: 502, code: "upstream_reset", outcome, attempts };
};
const ok: Logged = { status: 200, outcome: "answered" };
const lost: Logged = { status: 502, outcome: "unknown" };
const unsent: Logged = { status: 502, outcome: "not_sent" };

type Row = [what: string, told: Told, seen: Sighting[], logged: Logged[], fault: string | undefined];

const sentAfterAll = "it was not_sent, but the service has accepted it";
const logged401 = [{ ...ok, status: 401 }];

it.each<Row>([
  ["created", created, ["accepted"], [ok], undefined],
  ["answered, but never seen", created, [], [ok], "it was answered, but the service never saw it"],
  ["created twice", created, ["accepted", "accepted"], [ok], "it was sent again, though the service had accepted it"],
  ["200 for a refusal", created, ["replaced"], [ok], "it was answered 200, but the service has replaced it"],
  ["cured by a retry", retried, ["unauthorized", "accepted"], [ok], undefined],
  [
    "reported as retried, but sent once",
    retried,
    ["accepted"],
    [ok],
    "it was answered after 2 attempts, but seen 1 times",
  ],
  ["retried in silence", created, ["unauthorized", "accepted"], [ok], "it was sent 2 times, and its caller was told 1"],
  ["sent three times", retried, ["unauthorized", "unauthorized", "accepted"], [ok], "it was sent 3 times"],
  ["a 401 passed on", passedOn, ["unauthorized"], logged401, undefined],
  ["a 401 from nowhere", passedOn, ["accepted"], logged401, "it was answered 401, but the service has accepted it"],
  ["503 of the service", unavailable, ["replaced"], [{ status: 503, outcome: "unknown" }], undefined],
  [
    "503 of the service, reported as answered",
    { ...unavailable, outcome: "answered" },
    ["replaced"],
    [{ status: 503, outcome: "answered" }],
    "it was answered 503, and told answered",
  ],
  ["unknown, arrived", failed("unknown"), ["accepted"], [lost], undefined],
  ["unknown, not arrived", failed("unknown"), [], [lost], undefined],
  ["unknown after a 401", failed("unknown", 2), ["unauthorized", "accepted"], [lost], undefined],
  ["not sent", failed("not_sent"), [], [unsent], undefined],
  ["not sent, but accepted by the service", failed("not_sent"), ["accepted"], [unsent], sentAfterAll],
  ["cut", { kind: "cut" }, ["accepted"], [{ status: 200, outcome: "unknown" }], undefined],
  ["cut, logged as whole", { kind: "cut" }, ["accepted"], [ok], "its caller was told unknown, the log says answered"],
  ["left before anything came", { kind: "left" }, [], [], undefined],
  ["left, and the order exists", { kind: "left" }, ["accepted"], [{ status: 499, outcome: "answered" }], undefined],
  ["left, sent all the same", { kind: "left" }, ["accepted"], [{ ...unsent, status: 499 }], sentAfterAll],
  ["not logged", created, ["accepted"], [], "it was not logged"],
  ["logged twice", created, ["accepted"], [ok, ok], "it was logged 2 times"],
  [
    "logged with another status",
    created,
    ["accepted"],
    [{ ...ok, status: 502 }],
    "its caller got status 200, the log says 502",
  ],
  ["no answer, never arrived", { kind: "broken", why: "ECONNREFUSED" }, [], [], undefined],
  [
    "no answer, but accepted by the service",
    { kind: "broken", why: "ECONNRESET" },
    ["accepted"],
    [],
    "it was not logged",
  ],
  ["left, accepted by the service, but not logged", { kind: "left" }, ["accepted"], [], "it was not logged"],
])("an order: %s", (_, told, seen, logged, fault) => {
  expect(judgeOrder({ told, seen, logged, isOrphan: false })).toBe(fault);
});

it("forgives a killed replica the answers and lines that were lost with it, but not an order created twice", () => {
  const orphan: Order = { told: { kind: "broken", why: "ECONNRESET" }, seen: ["accepted"], logged: [], isOrphan: true };
  expect(judgeOrder(orphan)).toBeUndefined();
  expect(judgeOrder({ ...orphan, seen: ["accepted", "accepted"] })).toMatch(/^it was sent again/);
});

it("keeps a ledger: counts the settled orders, and reports events that come after an order is settled", () => {
  const ledger = new Ledger();
  const [one, other, third] = [ledger.open(), ledger.open(), ledger.open()];
  for (const number of [one, other]) ledger.see(number, "accepted");
  ledger.tell(one, created, "a", 10);
  ledger.log(one, ok);
  ledger.tell(other, failed("unknown"), "a", 20);
  ledger.log(other, lost);
  ledger.settle(10);
  expect(ledger.columns.answered).toEqual({ orders: 1, arrived: 1 });
  expect(ledger.columns.unknown).toEqual({ orders: 0, arrived: 0 });
  ledger.settle(20);
  expect(ledger.columns.unknown).toEqual({ orders: 1, arrived: 1 });
  ledger.see(one, "accepted");
  ledger.tell(third, created, "a", 30);
  ledger.settle(30);
  expect(ledger.disagreements).toEqual([
    { number: 1, what: "the service saw it after its end" },
    { number: 3, what: "it was not logged" },
  ]);
});

const faultOf = (allows: readonly string[]): Fault => ({ name: "slow", allows, begin: () => undefined });

const reset: Failure = {
  label: "upstream_reset unknown",
  replica: "a",
  site: "S1",
  number: 1,
  requestId: "r1",
  sentMs: 150,
  endedMs: 160,
};

it.each<[what: string, failure: Partial<Failure>, isExplained: boolean]>([
  ["while the fault was active", {}, true],
  ["on its way when the fault began", { sentMs: 90, endedMs: 100 }, true],
  ["over before the fault began", { sentMs: 90, endedMs: 99 }, false],
  ["another failure than the fault causes", { label: "internal unknown" }, false],
  ["sent when its replica had just recovered", { sentMs: 300, endedMs: 310 }, true],
  ["sent after its replica had recovered", { sentMs: 301, endedMs: 310 }, false],
  ["sent to a site that has not recovered", { site: "S2", sentMs: 301, endedMs: 310 }, true],
])("a failure: %s", (_, more, isExplained) => {
  const failure = { ...reset, ...more };
  const recoveredMs = new Map([[replicaAndSite(reset), 300]]);
  const episode = { fault: faultOf([reset.label]), startedMs: 100, recoveredMs };
  expect(explain(failure, [episode])).toBe(isExplained ? episode : undefined);
});

const snapshot: Snapshot = { atMs: 0, heapBytes: 10_000, residentBytes: 50_000, descriptors: 20, loopDelayP99Ms: 11 };

it("measures growth from the first snapshot to the last, and its slope over all snapshots", () => {
  const snapshots = [0, 1, 2].map((minute) => ({
    ...snapshot,
    atMs: minute * 60_000,
    heapBytes: 10_000 + 500 * minute,
  }));
  expect(measureGrowth("a", snapshots)).toMatchObject({ snapshots: 3, heapBytes: 1_000, heapBytesPerMinute: 500 });
  expect(measureGrowth("b", [snapshot])).toBeUndefined();
  expect(measureGrowth("c", [])).toBeUndefined();
  expect(
    slope([
      [0, 1],
      [1, 5],
      [2, 3],
    ]),
  ).toBeCloseTo(1);
  expect(slope([[3, 1]])).toBe(0);
});

it("a fault explains failures of orders that were under way during it, however many faults followed, and of no later order", () => {
  const account = new Account();
  const failureAt = (sentMs: number): Failure => {
    const [label, replica, site] = ["upstream_timeout unknown", "a", "S1"];
    return { label, replica, site, number: 1, requestId: undefined, sentMs, endedMs: performance.now() };
  };
  account.begin(faultOf(["upstream_timeout unknown"]));
  const duringMs = performance.now();
  account.end();
  const afterMs = performance.now();
  for (let n = 0; n < 5; n++) {
    account.begin(faultOf([]));
    account.end();
  }
  account.failed(failureAt(duringMs));
  expect(account.unexplained).toBe(0);
  account.failed(failureAt(afterMs + 1));
  expect(account.unexplained).toBe(1);
});

it("only a revocation of tokens explains 401s that are passed on after more than three forced refreshes, for 10 s", () => {
  const account = new Account();
  const passOn = (laterMs = 0): number => {
    const [label, replica, site] = ["service 401", "a", "S1"];
    const nowMs = performance.now() + laterMs;
    account.failed({ label, replica, site, number: 1, requestId: undefined, sentMs: nowMs, endedMs: nowMs });
    return account.unexplained;
  };
  account.begin(faultOf(["service 401 twice"]));
  account.refreshForced();
  account.refreshForced();
  expect(passOn()).toBe(1);
  account.refreshForced();
  account.refreshForced();
  for (let n = 1; n <= 30; n++) expect(passOn()).toBe(1);
  expect(passOn(11_000)).toBe(2);
  account.end();
  account.succeeded({ replica: "a", site: "S1", sentMs: performance.now() });
  account.begin(faultOf([]));
  expect(passOn()).toBe(3);
});

const loud = {
  name: "loud",
  allows: ["upstream_reset unknown"],
  feltAfterMs: 0,
  tokens: 1,
  begin: async () => async () => {},
};
const round = {
  fault: loud,
  failures: new Map([["upstream_reset unknown", 3]]),
  isWhole: true,
  recoveryMs: 100,
  startedMs: 0,
  endedMs: 10_000,
};
const none = { orders: 0, arrived: 0 };
const growth = { process: "a", snapshots: 20, heapBytes: 1_000_000, residentBytes: 9e6, heapBytesPerMinute: 5 };

/** The findings of a soak without a fault. */
const sound: Findings = {
  lastedMs: 600_000,
  rounds: [round],
  sent: 1_000,
  columns: {
    answered: { orders: 980, arrived: 980 },
    other: { orders: 5, arrived: 0 },
    unknown: { orders: 10, arrived: 4 },
    not_sent: { orders: 3, arrived: 0 },
    left: { orders: 2, arrived: 1 },
    broken: none,
  },
  accepted: 985,
  disagreeing: 0,
  disagreements: [],
  failures: new Map(),
  unexplained: 0,
  unexplainedFailures: [],
  growths: [growth],
  replicas: 2,
  descriptorsBefore: 25,
  descriptorsAfter: 25,
  liveness: { asked: 100, failed: 0, slowestMs: 1_000 },
  tokensIssued: 6,
  tokenReasons: new Map([["start", 1]]),
  endings: [{ replica: "b", end: "exit code 0", tookMs: 600 }],
  accidents: [],
  driverStoodStillMs: 10,
};

const broken = (findings: Findings) => judge(findings).flatMap(({ what, isKept }) => (isKept ? [] : what));

it("finds nothing wrong with a sound soak", () => {
  expect(broken(sound)).toEqual([]);
});

const heap = "growth of the heap at equal load";
const recovery = "all served again after each fault";
const endings = "processes ended by SIGTERM alone, exit 0";
const ended = (end: string, tookMs: number) => ({ endings: [{ replica: "b", end, tookMs }] });

it.each<[what: string, more: Partial<Findings>, promise: string]>([
  ["a failure without a cause", { unexplained: 1 }, "failures that no fault explains"],
  ["one order more than was sent", { accepted: 986 }, "orders that the service has created"],
  ["an order without any answer", { sent: 1_001 }, "orders that the service has created"],
  ["an order that the sides do not agree on", { disagreeing: 1 }, "orders on which all sides agree"],
  ["a heap that grew by 5 MiB and a byte", { growths: [growth, { ...growth, heapBytes: 5_242_881 }] }, heap],
  ["a heap that was not measured", { growths: [] }, heap],
  ["one descriptor more", { descriptorsAfter: 26 }, "open descriptors at rest"],
  ["/livez red once", { liveness: { asked: 100, failed: 1, slowestMs: 1 } }, "/livez green"],
  ["/livez late", { liveness: { asked: 100, failed: 0, slowestMs: 1_001 } }, "/livez green"],
  ["/livez never requested", { liveness: { asked: 0, failed: 0, slowestMs: 0 } }, "/livez green"],
  ["a token too many", { tokensIssued: 7 }, "tokens issued"],
  ["a replica that did not recover", { rounds: [{ ...round, recoveryMs: Number.POSITIVE_INFINITY }] }, recovery],
  ["a fault without effect", { rounds: [{ ...round, failures: new Map() }] }, "faults that callers must feel"],
  ["a process that ended by itself", { accidents: ["b ended by itself: exit code 70"] }, endings],
  ["a process that did not end well", ended("SIGKILL", 1), endings],
  ["a process that took too long to end", ended("exit code 0", 8_001), endings],
])("finds %s", (_, more, promise) => {
  expect(broken({ ...sound, ...more })).toEqual([promise]);
});

it("plays each fault once before any is repeated, in an order that depends on the seed", () => {
  const draw = (seed: number) => {
    const faults = schedule(everyFault, seed);
    return everyFault.concat(everyFault).map(() => faults.next().value.name);
  };
  const names = everyFault.map(({ name }) => name).sort();
  expect(new Set(names).size).toBe(names.length);
  for (const half of [draw(7).slice(0, names.length), draw(7).slice(names.length)]) expect(half.sort()).toEqual(names);
  expect(draw(7)).toEqual(draw(7));
  expect(draw(8)).not.toEqual(draw(7));
});
