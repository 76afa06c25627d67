import type { RedisFailureKind } from "../../model/events.ts";
import { kindOf } from "./failure.ts";

/** Why something failed, for people: of a foreign error no more than this, since it may carry a command's arguments. */
export interface RedisTrouble {
  readonly kind: RedisFailureKind;
  /** The error's own code, such as ECONNREFUSED or MISCONF. */
  readonly code: string | undefined;
  /** With `noperm`: what is not permitted is the key, not the command. */
  readonly isAboutKey: boolean;
}

export function troubleOf(error: unknown): RedisTrouble {
  if (error instanceof Error && "lastNodeError" in error && error.lastNodeError !== undefined) {
    return troubleOf(error.lastNodeError);
  }
  const message = error instanceof Error ? error.message : "";
  const own = typeof error === "object" && error !== null && "code" in error ? String(error.code) : undefined;
  const code = own ?? /^[A-Z]{2,20}(?= )/.exec(message)?.[0];
  return {
    kind: kindOf(error),
    code: code !== undefined && /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? code : undefined,
    isAboutKey: /\bkeys?\b/i.test(message) && !/\brun the '/i.test(message),
  };
}
