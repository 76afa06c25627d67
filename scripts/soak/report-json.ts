import type { Unexplained } from "./account.ts";
import type { Findings } from "./findings.ts";
import type { Disagreement } from "./ledger.ts";
import type { Options } from "./options.ts";
import type { Kept } from "./verdict.ts";

/** The whole report as one JSON document. */
export function describeAll(
  options: Options,
  findings: Findings,
  promises: readonly Kept[],
  unexplained: readonly Unexplained[],
  disagreements: readonly Disagreement[],
): object {
  return {
    ...options,
    ...findings,
    rounds: findings.rounds.map(({ fault, failures, recoveryMs, startedMs, endedMs }) => ({
      fault: fault.name,
      failures: Object.fromEntries(failures),
      recoveryMs,
      lastedMs: endedMs - startedMs,
    })),
    failures: Object.fromEntries(findings.failures),
    tokenReasons: Object.fromEntries(findings.tokenReasons),
    unexplainedFailures: unexplained,
    disagreements,
    promises,
    isKept: promises.every(({ isKept }) => isKept),
  };
}
