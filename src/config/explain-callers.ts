import type { Callers } from "../model/callers.ts";
import type { Secret } from "../model/secret.ts";

/** Behind where a listener leads: who may call it. */
export function describeCallers(callers: Callers | undefined): string {
  switch (callers?.kind) {
    case undefined:
      return "";
    case "anyone":
      return "; anyone may call";
    case "tokens":
      return "; callers by token";
    case "mtls":
      return "; callers by certificate";
  }
}

/**
 * A listener's `callers` as they are in force.
 * @param mask says where a secret came from instead of what it is
 */
export function explainCallers(callers: Callers, mask: (secret: Secret) => string): object | string {
  switch (callers.kind) {
    case "anyone":
      return "anyone";
    case "tokens":
      return { tokens: callers.tokens.map(({ name, token }) => ({ name, token: mask(token) })) };
    case "mtls":
      return { mtls: { key: mask(callers.tls.key) } };
  }
}
