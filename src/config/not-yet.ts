import type { Findings } from "./findings.ts";
import type { RawConfig } from "./schema.ts";

/** What the configuration can say and this version cannot do: refused, so that nobody believes it is in force. */
export function refuseNotYet({ listeners }: RawConfig, findings: Findings): void {
  for (const [index, { callers }] of listeners.entries()) {
    if (callers === undefined || callers === "anyone") continue;
    const way = "tokens" in callers ? "tokens" : "mtls";
    const message = `callers.${way} is not available in this version`;
    const mend = "bind to loopback or a Unix socket, or write callers: anyone behind a network policy";
    findings.refuse(["listeners", index, "callers"], message, mend, way);
  }
}
