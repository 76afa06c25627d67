import type { SimulatorTls } from "./listening-host.ts";
import type { SimulatedSite } from "./sites.ts";

/** How the service is to be. Only `sites` is needed. */
export interface SimulatorOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free one. */
  readonly apiPort?: number;
  readonly loginPort?: number;
  /** Default `/json-api`. */
  readonly basePath?: string;
  /** Default `sandbox`. A token of another environment is refused (spec 7). */
  readonly environment?: string;
  readonly sites: readonly SimulatedSite[];
  /** Default 86400. */
  readonly tokenLifetimeSeconds?: number;
  /** Put before `token_1`, `token_2`, …, so that the tokens of two environments differ. Default none. */
  readonly tokenPrefix?: string;
  /** Default 600. */
  readonly timestampToleranceSeconds?: number;
  /** Names that are not signed beside signature itself; default format and call (spec 5.2). */
  readonly exempt?: readonly string[];
  /** `any` lifts spec 5.2 rule 3; default `strict`. */
  readonly characters?: "strict" | "any";
  /** How long an idle connection is kept; default 60000. */
  readonly keepAliveTimeoutMs?: number;
  /** Wall clock; default the machine's. */
  readonly nowMs?: () => number;
  /** Both hosts speak TLS when given. */
  readonly tls?: SimulatorTls;
  /** Receives one line per request, once it is answered; never a secret. */
  readonly log?: (line: string) => void;
}
