import { createWriteStream, mkdirSync, type WriteStream } from "node:fs";
import { join } from "node:path";
import type { ApiRequest } from "../../simulator/src/service/request-log.ts";
import type { Simulator } from "../../simulator/src/service/simulator.ts";
import type { RefreshReason } from "../../src/model/events.ts";
import { seededRandom } from "../../testkit/seeded-random.ts";
import { Account } from "./account.ts";
import { Callers } from "./callers.ts";
import { Fleet, type LogLine } from "./fleet.ts";
import { Ledger } from "./ledger.ts";
import { LivenessWatch } from "./liveness.ts";
import type { Options } from "./options.ts";
import type { Sighting } from "./order.ts";
import { openShared, type Shared } from "./shared.ts";

/** Everything that the soak needs, and the reports of all sides so far. */
export interface Stage extends Pick<Shared, "simulator" | "redis"> {
  readonly fleet: Fleet;
  readonly callers: Callers;
  readonly account: Account;
  readonly ledger: Ledger;
  readonly liveness: LivenessWatch;
  /** How many tokens replicas got, by the reasons that they log. */
  readonly tokenReasons: ReadonlyMap<RefreshReason, number>;
  readonly defects: readonly string[];
  /** Closes the orders whose callers got their answer so long ago. */
  settle(agoMs: number): void;
  close(): Promise<void>;
}

/** By then all sides have reported an order. */
const settledAfterMs = 60_000;
const settleEveryMs = 1_000;
const lookEveryMs = 200;

export async function openStage({ seed, logs }: Options): Promise<Stage> {
  const shared = await openShared();
  const { simulator, redis } = shared;
  const account = new Account();
  const ledger = new Ledger();
  const liveness = new LivenessWatch();
  const { tokenReasons, defects, onLine } = listenToLogs(ledger, account);
  const callers = new Callers(ledger, account, seededRandom(seed + 1));
  const fleet = new Fleet(shared, {
    onLine,
    ...(logs !== undefined && { onText: keepLogs(logs) }),
    onStarted({ name, url, adminUrl }) {
      callers.add(name, url);
      liveness.watch(adminUrl);
    },
    onRemoved({ name, adminUrl }) {
      callers.expectEnd(name);
      liveness.leave(adminUrl);
    },
    onKilled: ({ name }) => ledger.orphan(name),
  });
  const look = watchService(simulator, ledger);
  const settle = (agoMs: number) => {
    look();
    ledger.settle(performance.now() - agoMs);
  };
  const timers = [setInterval(look, lookEveryMs), setInterval(() => settle(settledAfterMs), settleEveryMs)];
  const close = async () => {
    for (const timer of timers) clearInterval(timer);
    liveness.close();
    await callers.close();
    await shared.close();
  };
  return { simulator, redis, fleet, callers, account, ledger, liveness, tokenReasons, defects, settle, close };
}

/** Reports each order's end to the ledger, and each token issued because of a 401 to the account. */
function listenToLogs(ledger: Ledger, account: Account) {
  const tokenReasons = new Map<RefreshReason, number>();
  const defects: string[] = [];
  const onLine = (replica: string, line: LogLine) => {
    // A request with an incomplete head has no reference; its caller knows how it ended.
    if (line.event === "request_finished" && line.reference !== undefined) {
      ledger.log(Number(line.reference.replace("soak-", "")), { status: line.status, outcome: line.outcome });
    }
    if (line.event === "token_requested" && line.result === "issued") {
      tokenReasons.set(line.reason, (tokenReasons.get(line.reason) ?? 0) + 1);
      if (line.reason === "unauthorized") account.refreshForced();
    }
    if (line.event === "defect") defects.push(`${replica}: ${line.error}`);
  };
  return { tokenReasons, defects, onLine };
}

/** Writes each replica's log into a file of this folder. */
function keepLogs(folder: string) {
  mkdirSync(folder, { recursive: true });
  const files = new Map<string, WriteStream>();
  return (replica: string, text: string) => {
    const file = files.get(replica) ?? createWriteStream(join(folder, `${replica}.log`));
    files.set(replica, file);
    file.write(`${text}\n`);
  };
}

/**
 * Reports each request that arrived at the service to the ledger, in the order of arrival.
 * @returns a function that looks for new requests; it throws Error if the service has forgotten some before
 */
function watchService(simulator: Simulator, ledger: Ledger): () => void {
  let last = 0;
  return () => {
    const fresh = simulator.seen.apiRequests.filter(({ number }) => number > last);
    const [first] = fresh;
    if (first !== undefined && first.number !== last + 1) throw new Error("the service has forgotten requests");
    for (const request of fresh) {
      last = request.number;
      const [, number] = /"order_reference":"soak-(\d+)"/.exec(request.body.toString("latin1")) ?? [];
      ledger.see(Number(number), sightingOf(request));
    }
  };
}

function sightingOf({ refusal, orderId }: ApiRequest): Sighting {
  if (refusal !== undefined) return refusal.status === 401 ? "unauthorized" : "refused";
  return orderId === undefined ? "replaced" : "accepted";
}
