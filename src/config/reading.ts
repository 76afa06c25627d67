import type { Claim } from "./claim.ts";
import type { Findings } from "./findings.ts";
import type { SecretReader } from "./read-secrets.ts";

/** What is at hand while the parts of a configuration are read. */
export interface Reading {
  readonly secrets: SecretReader;
  readonly findings: Findings;
  /** Collected on the way; compared at the end. */
  readonly claims: Claim[];
}
