import { startSimulator } from "../../simulator/src/service/simulator.ts";
import type { RefreshReason } from "../../src/model/events.ts";
import { Children } from "../../testkit/processes.ts";
import { openRedis } from "../../testkit/redis.ts";
import { seededRandom } from "../../testkit/seeded-random.ts";
import { Account } from "./account.ts";
import { Callers } from "./callers.ts";
import type { Scene } from "./fault.ts";
import { tokenLifetimeSeconds } from "./faults-of-tokens.ts";
import { Fleet } from "./fleet.ts";
import { createFolder, simulatedSites } from "./folder.ts";
import { Ledger } from "./ledger.ts";
import { LivenessWatch } from "./liveness.ts";
import type { Options } from "./options.ts";
import type { LogLine } from "./replica.ts";
import { ServiceWatch } from "./watch-service.ts";

/** Everything that the soak needs, and what all sides have said so far. */
export interface Stage extends Scene {
  readonly account: Account;
  readonly ledger: Ledger;
  readonly liveness: LivenessWatch;
  /** Tokens that replicas were given, by their own reasons. */
  readonly tokenReasons: ReadonlyMap<RefreshReason, number>;
  readonly defects: readonly string[];
  /** Closes the book on all that was told to callers so long ago. */
  settle(agoMs: number): void;
  close(): Promise<void>;
}

/** What all sides know of an order is known by then. */
const settledAfterMs = 60_000;
const settleEveryMs = 1_000;

export async function openStage({ seed, logs }: Options): Promise<Stage> {
  const children = new Children();
  const redis = await openRedis();
  const simulator = await startSimulator({
    sites: simulatedSites,
    tokenLifetimeSeconds,
  });
  const folder = createFolder({ baseUrl: simulator.apiUrl, authUrl: simulator.loginUrl, redisUrl: redis.url });
  const account = new Account();
  const ledger = new Ledger();
  const watch = new ServiceWatch(simulator, (number, sighting) => ledger.see(number, sighting));
  const liveness = new LivenessWatch();
  const { tokenReasons, defects, onLine } = listenToLogs(ledger, account);
  const callers = new Callers({
    ledger,
    random: seededRandom(seed + 1),
    onFailure: (failure) => account.failed(failure),
    onSuccess: (order) => account.succeeded(order),
  });
  const fleet = new Fleet({ children, folder, logs, onLine }, callers, liveness, (name) => ledger.orphan(name));
  const settle = (agoMs: number) => {
    watch.look();
    ledger.settle(performance.now() - agoMs);
  };
  const timer = setInterval(() => settle(settledAfterMs), settleEveryMs);
  const close = async () => {
    clearInterval(timer);
    watch.close();
    liveness.close();
    await callers.close();
    await children.endAll();
    await Promise.all([simulator.stop(), redis.end()]);
    folder.remove();
  };
  return { simulator, redis, fleet, callers, account, ledger, liveness, tokenReasons, defects, settle, close };
}

/** The book learns how each order ended, and the account which tokens 401s have cost. */
function listenToLogs(ledger: Ledger, account: Account) {
  const tokenReasons = new Map<RefreshReason, number>();
  const defects: string[] = [];
  const onLine = (replica: string, line: LogLine) => {
    // A request whose head never came to its end has no reference; its caller knows how it ended.
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
