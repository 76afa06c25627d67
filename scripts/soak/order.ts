import type { Outcome } from "../../src/model/errors.ts";
import type { Told } from "../../testkit/send-order.ts";

/** The service's verdict on a request that arrived. `replaced`: a fault answered instead, and no order exists. */
export type Sighting = "accepted" | "replaced" | "unauthorized" | "refused";

/** The replica's access line. */
export interface Logged {
  readonly status: number;
  readonly outcome: Outcome;
}

/** The three sides' knowledge of one order. */
export interface Order {
  readonly told: Told;
  /** In the order in which they arrived at the service. */
  readonly seen: readonly Sighting[];
  readonly logged: readonly Logged[];
  /** Its replica was killed (SIGKILL), so its knowledge of the order may be lost. */
  readonly isOrphan: boolean;
}

/**
 * Compares the caller's answer, the requests that the service saw, and the replica's log.
 * @returns the disagreement, in a sentence; undefined if all agree
 */
export function judgeOrder(order: Order): string | undefined {
  return judgeLog(order) ?? judgeRepeats(order) ?? judgeArrival(order);
}

/** Whether or not the caller has left, how the request ended is logged once. */
function judgeLog({ told, seen, logged, isOrphan }: Order): string | undefined {
  if (logged.length > 1) return `it was logged ${logged.length} times`;
  const [line] = logged;
  if (line === undefined) {
    // A caller that left, or got no answer, may never have reached the replica.
    const mayBeMissing = isOrphan || (seen.length === 0 && (told.kind === "left" || told.kind === "broken"));
    return mayBeMissing ? undefined : "it was not logged";
  }
  const said = outcomeOf(told);
  if (said !== undefined && said !== line.outcome) return `its caller was told ${said}, the log says ${line.outcome}`;
  const isOther = "status" in told && told.status !== line.status;
  return isOther ? `its caller got status ${told.status}, the log says ${line.status}` : undefined;
}

/** An order is sent once, and a second time only after a 401. */
function judgeRepeats({ told, seen }: Order): string | undefined {
  if (seen.length > 2) return `it was sent ${seen.length} times`;
  const [first] = seen;
  if (seen.length === 2 && first !== "unauthorized") return `it was sent again, though the service had ${first} it`;
  const wereTold = "attempts" in told ? told.attempts : 2;
  if (seen.length > wereTold) return `it was sent ${seen.length} times, and its caller was told ${wereTold}`;
  return undefined;
}

/** Checks the outcome's promise about the order's existence. */
function judgeArrival({ told, seen, logged }: Order): string | undefined {
  const outcome = outcomeOf(told) ?? outcomeOfLog(logged);
  const taken = seen.filter((sighting) => sighting !== "unauthorized");
  if (outcome === "not_sent" && taken.length > 0) return `it was not_sent, but the service has ${taken[0]} it`;
  if (outcome !== "answered" && told.kind !== "answered") return undefined;
  if (seen.length === 0) return "it was answered, but the service never saw it";
  return told.kind === "answered" ? judgeAnswer(told, seen) : undefined;
}

/** If the caller got the service's own answer, the service saw the request as often as the attempts say. */
function judgeAnswer(
  { status, outcome, attempts }: Extract<Told, { kind: "answered" }>,
  seen: readonly Sighting[],
): string | undefined {
  if (outcome !== (status < 500 ? "answered" : "unknown")) return `it was answered ${status}, and told ${outcome}`;
  if (seen.length !== attempts) return `it was answered after ${attempts} attempts, but seen ${seen.length} times`;
  const last = seen.at(-1);
  const isWanted =
    status === 200 ? last === "accepted" : status === 401 ? last === "unauthorized" : last !== "accepted";
  return isWanted ? undefined : `it was answered ${status}, but the service has ${last} it`;
}

function outcomeOf(told: Told): string | undefined {
  if (told.kind === "answered" || told.kind === "failed") return told.outcome;
  return told.kind === "cut" ? "unknown" : undefined;
}

/** The caller got no outcome, so only the log has one. */
function outcomeOfLog([line]: readonly Logged[]): string {
  return line?.outcome ?? "unknown";
}
