import type { Findings } from "./findings.ts";
import type { RawConfig } from "./schema.ts";

/** What the configuration can say and this version cannot do: refused, so that nobody believes it is in force. */
export function refuseNotYet({ listeners, tokens }: RawConfig, findings: Findings): void {
  if (tokens.cache === "redis") {
    findings.refuse(["tokens", "cache"], "redis is not available in this version", "use memory, with one replica");
  }
  for (const [index, { callers }] of listeners.entries()) {
    if (callers === undefined || callers === "anyone") continue;
    const way = "tokens" in callers ? "tokens" : "mtls";
    findings.refuse(
      ["listeners", index, "callers"],
      `callers.${way} is not available in this version`,
      "bind to loopback or a Unix socket, or write callers: anyone behind a network policy",
      way,
    );
  }
}
