import type { RefreshReason } from "../../src/model/events.ts";
import type { Account, FleetEvent } from "./account.ts";
import type { LogLine } from "./replica.ts";
import type { Screen } from "./screen.ts";

/** What a replica has logged. */
export interface Logged {
  readonly replica: string;
  readonly line: LogLine;
  readonly atMs: number;
}

/** Hears callers and replicas: keeps what was logged, counts it, and tells what is worth a line. */
export interface Ears {
  /** In the order of arrival. */
  readonly log: readonly Logged[];
  onLine(replica: string, line: LogLine): void;
  onAnswered(answered: Extract<FleetEvent, { kind: "answered" }>): void;
}

const inWords: Readonly<Record<RefreshReason, string>> = {
  start: "start (it has none yet)",
  missing: "missing (it has none)",
  due: "due (80 % used up)",
  expired: "expired (near its end)",
  unauthorized: "unauthorized (a 401)",
  redis_recovered: "redis_recovered",
  reload: "reload (its place in the configuration changed)",
};

/** More failures are counted, but not told one by one. */
const mostFailuresTold = 5;

export function createEars(account: Account, screen: Screen): Ears {
  const log: Logged[] = [];
  const lockOf = new Map<string, "acquired" | "held" | "unavailable">();
  const tell = (replica: string, line: LogLine) => {
    if (line.event === "token_requested") {
      const without = lockOf.get(replica) === "acquired" ? "" : " without a lock";
      screen.happened(`${replica} asked for a token${without}, ${line.result}; why: ${inWords[line.reason]}`);
    }
    if (line.event === "redis_failed") screen.happened(`${replica} got no answer from Redis: ${line.failure}`);
  };
  return {
    log,
    onLine(replica, line) {
      log.push({ replica, line, atMs: performance.now() });
      tell(replica, line);
      if (line.event === "refresh_lock_tried") lockOf.set(replica, line.result);
      if (line.event === "token_adopted") account.add({ kind: "token_adopted", replica, issuedHere: line.issuedHere });
      if (line.event === "token_requested") {
        account.add({ kind: "token_requested", replica, reason: line.reason, result: line.result });
      }
    },
    onAnswered(answered) {
      account.add(answered);
      if (answered.failure === undefined || account.all.failed > mostFailuresTold) return;
      screen.happened(`a request through ${answered.replica} failed: ${answered.failure}`);
    },
  };
}
