import { Secret } from "../model/secret.ts";
import type { Findings } from "./diagnostics.ts";
import { fingerprint } from "./hash.ts";
import type { Path } from "./problem.ts";

/** Something of its environment's own, which another one must not have: a path below `environments.<name>`. */
export interface Claim {
  readonly kind: "origin" | "client id" | "key identifier" | "secret";
  readonly value: string | Secret;
  readonly path: Path;
}

/**
 * Nothing of one environment may work in another (spec 7): a sandbox request must never become a real order. Within
 * one, a Key Identifier is unique (spec 5.3).
 */
export function checkClaims(claims: readonly Claim[], findings: Findings): void {
  const firsts = new Map<string, Claim>();
  for (const claim of claims) {
    const key = keyOf(claim);
    const earlier = firsts.get(key);
    if (earlier === undefined) {
      firsts.set(key, claim);
      continue;
    }
    const [own, others] = [environmentOf(claim), environmentOf(earlier)];
    if (own !== others) {
      const message = `the ${claim.kind} is also environment ${others}'s`;
      const fix = `give environment ${own} its own; environments share no host, client or key`;
      const found = claim.kind === "secret" ? "hidden" : undefined;
      findings.conclude([claim.path, earlier.path], claim.path, message, fix, found);
    } else if (claim.kind === "key identifier") {
      const fix = "keep one; it is unique per key pair (spec 5.3)";
      findings.conclude([claim.path, earlier.path], claim.path, "this key is configured twice", fix);
    }
  }
}

/** The same for equal claims. A secret enters by its fingerprint, so that it stays outside the heap. */
function keyOf({ kind, value }: Claim): string {
  return `${kind} ${value instanceof Secret ? fingerprint(value) : value}`;
}

function environmentOf({ path: [, name] }: Claim): string {
  return String(name);
}
