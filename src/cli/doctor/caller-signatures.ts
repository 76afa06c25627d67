import type { Environment } from "../../model/environment.ts";
import { type Check, type CheckResult, ok, type Run, warn } from "./check.ts";

const mostShown = 3;

/** Where signatures of callers are checked: whether there are keys to check them with. */
export function checkCallerSignatures({ config }: Run): Check[] {
  return [...config.environments.values()].flatMap((environment) => {
    const result = evaluate(environment);
    if (result === undefined) return [];
    return [{ topic: "config" as const, environment: environment.name, subject: "signatures", ...result, tookMs: 0 }];
  });
}

function evaluate({ sites }: Environment): CheckResult | undefined {
  const checked = [...sites.values()].filter(({ checksCallerSignature }) => checksCallerSignature);
  if (checked.length === 0) return undefined;
  const without = checked.filter(({ defaultKey }) => defaultKey === undefined).map(({ identifier }) => identifier);
  if (without.length === 0) {
    return ok(`callers' own signatures are checked at ${checked.length === 1 ? "1 site" : `${checked.length} sites`}`);
  }
  const more = without.length > mostShown ? ` and ${without.length - mostShown} more` : "";
  const names = `${without.slice(0, mostShown).join(", ")}${more}`;
  return warn(`callers' own signatures for ${names} cannot be checked: no keys`, "add the keys that callers sign with");
}
