import { expect, it } from "vitest";
import { everyFault, schedule } from "../../scripts/soak/faults.ts";
import { type Findings, judge } from "../../scripts/soak/verdict.ts";

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

/** Everything is as it should be. */
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
  ["an order more than was sent", { accepted: 986 }, "orders that the service has created"],
  ["an order without any answer", { sent: 1_001 }, "orders that the service has created"],
  ["an order that the sides do not agree on", { disagreeing: 1 }, "orders on which all sides agree"],
  ["a heap that grew by 5 MiB and a byte", { growths: [growth, { ...growth, heapBytes: 5_242_881 }] }, heap],
  ["a heap that was not measured", { growths: [] }, heap],
  ["a descriptor more", { descriptorsAfter: 26 }, "open descriptors at rest"],
  ["/livez red once", { liveness: { asked: 100, failed: 1, slowestMs: 1 } }, "/livez green"],
  ["/livez late", { liveness: { asked: 100, failed: 0, slowestMs: 1_001 } }, "/livez green"],
  ["/livez never asked for", { liveness: { asked: 0, failed: 0, slowestMs: 0 } }, "/livez green"],
  ["a token too many", { tokensIssued: 7 }, "tokens issued"],
  ["a replica that did not recover", { rounds: [{ ...round, recoveryMs: Number.POSITIVE_INFINITY }] }, recovery],
  ["a fault without effect", { rounds: [{ ...round, failures: new Map() }] }, "faults that callers must feel"],
  ["a process that ended by itself", { accidents: ["b ended by itself: exit code 70"] }, endings],
  ["a process that did not end well", ended("SIGKILL", 1), endings],
  ["a process that took too long to end", ended("exit code 0", 8_001), endings],
])("finds %s", (_, more, promise) => {
  expect(broken({ ...sound, ...more })).toEqual([promise]);
});

it("plays each fault once before any comes again, in an order that the seed decides", () => {
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
