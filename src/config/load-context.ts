import type { Findings } from "./diagnostics.ts";
import type { SecretReader } from "./read-secrets.ts";
import type { Claim } from "./uniqueness.ts";

/** What is at hand while the parts of a configuration are read. */
export interface Reading {
  readonly secrets: SecretReader;
  readonly findings: Findings;
  /** Collected on the way; compared at the end. */
  readonly claims: Claim[];
}
