import type { Problem } from "../config/diagnostics.ts";
import type { Report } from "../model/events.ts";

/** Tells what a configuration is warned of, once: what a reload leaves as it was is not told again. */
export function createWarner(report: Report): (warnings: readonly Problem[]) => void {
  let told: ReadonlySet<string> = new Set();
  return (warnings) => {
    const keyOf = ({ code, path, message }: Problem) => `${code} ${path} ${message}`;
    for (const warning of warnings) {
      if (told.has(keyOf(warning))) continue;
      const { code = "", path, message, fix } = warning;
      report({ kind: "configuration_warned", code, path, message: `${message}; ${fix}` });
    }
    told = new Set(warnings.map(keyOf));
  };
}
