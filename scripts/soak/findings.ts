import type { RefreshReason } from "../../src/model/events.ts";
import type { Ending } from "./fleet.ts";
import type { Growth } from "./growth.ts";
import type { Columns } from "./ledger.ts";
import type { Liveness } from "./liveness.ts";
import type { Played } from "./play.ts";

/** Everything that the soak is judged by. */
export interface Findings {
  readonly lastedMs: number;
  readonly rounds: readonly Pick<Played, "fault" | "failures" | "isWhole" | "recoveryMs" | "startedMs" | "endedMs">[];
  /** Orders that callers have sent. */
  readonly sent: number;
  readonly columns: Columns;
  /** Orders that the service has created, by its own count. */
  readonly accepted: number;
  /** Orders of which caller, service and log do not say the same. */
  readonly disagreeing: number;
  readonly failures: ReadonlyMap<string, number>;
  readonly unexplained: number;
  readonly growths: readonly Growth[];
  /** How many are alive at a time. */
  readonly replicas: number;
  /** The most of any replica while it is not called. */
  readonly descriptorsBefore: number;
  readonly descriptorsAfter: number;
  readonly liveness: Liveness;
  readonly tokensIssued: number;
  readonly tokenReasons: ReadonlyMap<RefreshReason, number>;
  /** Replicas that were told to end. */
  readonly endings: readonly Ending[];
  /** What no process should have done. */
  readonly accidents: readonly string[];
  /** The longest stall of the process that calls, plays the service and measures. */
  readonly driverStoodStillMs: number;
}
