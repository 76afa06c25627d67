import { expect, it } from "vitest";
import { Account, explain, type Failure, replicaAndSite } from "../../scripts/soak/account.ts";
import type { Fault } from "../../scripts/soak/faults.ts";
import { Ledger } from "../../scripts/soak/ledger.ts";
import { measureGrowth, type Snapshot } from "../../scripts/soak/memory.ts";
import { judgeOrder, type Logged, type Sighting } from "../../scripts/soak/order.ts";
import { type Findings, judge } from "../../scripts/soak/verdict.ts";
import type { Told } from "../../testkit/send-order.ts";

// The soak's judges: which observations they take for a broken promise. The soak itself shows what they let pass.

const created = { kind: "answered", status: 200, outcome: "answered", attempts: 1 } as const satisfies Told;
const retried: Told = { ...created, attempts: 2 };
const passedOn: Told = { ...created, status: 401 };
const answered503: Told = { ...created, status: 503 };
const notSent: Told = { kind: "failed", status: 502, code: "upstream_reset", outcome: "not_sent", attempts: 1 };
const unanswered: Told = { kind: "broken", why: "ECONNRESET" };
const ok: Logged = { status: 200, outcome: "answered" };
const unsent: Logged = { status: 502, outcome: "not_sent" };

const sentAfterAll = "it was not_sent, but the service has accepted it";
const logged401 = [{ ...ok, status: 401 }];
const logged503 = { ...ok, status: 503 };

it.each<Row>([
  ["created", created, ["accepted"], [ok], undefined],
  ["answered, but never seen", created, [], [ok], "it was answered, but the service never saw it"],
  ["created twice", created, ["accepted", "accepted"], [ok], "it was sent again, though the service had accepted it"],
  ["200 for a refusal", created, ["replaced"], [ok], "it was answered 200, but the service has replaced it"],
  ["retried, but sent once", retried, ["accepted"], [ok], "it was answered after 2 attempts, but seen 1 times"],
  ["retried in silence", created, ["unauthorized", "accepted"], [ok], "it was sent 2 times, and its caller was told 1"],
  ["sent three times", retried, ["unauthorized", "unauthorized", "accepted"], [ok], "it was sent 3 times"],
  ["a 401 from nowhere", passedOn, ["accepted"], logged401, "it was answered 401, but the service has accepted it"],
  ["503, reported as answered", answered503, ["replaced"], [logged503], "it was answered 503, and told answered"],
  ["not sent, but accepted by the service", notSent, ["accepted"], [unsent], sentAfterAll],
  ["cut, logged as whole", { kind: "cut" }, ["accepted"], [ok], "its caller was told unknown, the log says answered"],
  ["left, sent all the same", { kind: "left" }, ["accepted"], [{ ...unsent, status: 499 }], sentAfterAll],
  ["not logged", created, ["accepted"], [], "it was not logged"],
  ["logged twice", created, ["accepted"], [ok, ok], "it was logged 2 times"],
  ["logged as 502", created, ["accepted"], [{ ...ok, status: 502 }], "its caller got status 200, the log says 502"],
  ["no answer, but accepted by the service", unanswered, ["accepted"], [], "it was not logged"],
  ["left, accepted by the service, but not logged", { kind: "left" }, ["accepted"], [], "it was not logged"],
])("an order: %s", (_, told, seen, logged, fault) => {
  expect(judgeOrder({ told, seen, logged, isOrphan: false })).toBe(fault);
});

it("does not forgive a killed replica an order that was created twice", () => {
  const fault = judgeOrder({ told: unanswered, seen: ["accepted", "accepted"], logged: [], isOrphan: true });
  expect(fault).toMatch(/^it was sent again/);
});

it("reports an order that is settled without its log line, and one that comes after it was settled", () => {
  const ledger = new Ledger();
  const [one, other] = [ledger.open(), ledger.open()];
  ledger.see(one, "accepted");
  ledger.tell(one, created, "a", 10);
  ledger.log(one, ok);
  ledger.settle(10);
  ledger.see(one, "accepted");
  ledger.see(other, "accepted");
  ledger.tell(other, created, "a", 30);
  ledger.settle(30);
  expect(ledger.disagreements).toEqual([
    { number: 1, what: "the service saw it after its end" },
    { number: 2, what: "it was not logged" },
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
  ["over before the fault began", { sentMs: 90, endedMs: 99 }, false],
  ["another failure than the fault causes", { label: "internal unknown" }, false],
  ["sent after its replica had recovered", { sentMs: 301, endedMs: 310 }, false],
])("a failure: %s", (_, more, isExplained) => {
  const failure = { ...reset, ...more };
  const recoveredMs = new Map([[replicaAndSite(reset), 300]]);
  const episode = { fault: faultOf([reset.label]), startedMs: 100, recoveredMs };
  expect(explain(failure, [episode])).toBe(isExplained ? episode : undefined);
});

const snapshot: Snapshot = { atMs: 0, heapBytes: 10_000, residentBytes: 50_000, descriptors: 20, loopDelayP99Ms: 11 };

it("measures growth from the first snapshot to the lowest of the last three", () => {
  const later = [0, 500, 3_000, 1_000, 2_000].map((more) => ({ ...snapshot, heapBytes: 10_000 + more }));
  expect(measureGrowth("a", later)).toMatchObject({ snapshots: 5, heapBytes: 1_000 });
  expect(measureGrowth("a", later.slice(0, 2))).toMatchObject({ snapshots: 2, heapBytes: 500 });
});

it("only a revocation of tokens explains 401s that are passed on after a forced refresh, for 10 s", () => {
  const account = new Account();
  const passOn = (laterMs = 0): number => {
    const [label, replica, site] = ["service 401", "a", "S1"];
    const nowMs = performance.now() + laterMs;
    account.failed({ label, replica, site, number: 1, requestId: undefined, sentMs: nowMs, endedMs: nowMs });
    return account.unexplained;
  };
  account.begin(faultOf(["service 401 twice"]));
  expect(passOn()).toBe(1);
  account.refreshForced();
  for (let n = 1; n <= 30; n++) expect(passOn()).toBe(1);
  expect(passOn(11_000)).toBe(2);
  account.end();
  account.succeeded({ replica: "a", site: "S1", sentMs: performance.now() });
  account.begin(faultOf([]));
  expect(passOn()).toBe(3);
});

const round = {
  fault: { ...faultOf([reset.label]), feltAfterMs: 0, tokens: 1 },
  failures: new Map([[reset.label, 3]]),
  isWhole: true,
  recoveryMs: 100,
  startedMs: 0,
  endedMs: 10_000,
};
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
    broken: { orders: 0, arrived: 0 },
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
  ["a process that took too long to end", ended("exit code 0", 23_001), endings],
])("finds %s", (_, more, promise) => {
  expect(broken({ ...sound, ...more })).toEqual([promise]);
});

type Row = [what: string, told: Told, seen: Sighting[], logged: Logged[], fault: string | undefined];
