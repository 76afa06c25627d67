import { createHash } from "node:crypto";
import type { Secret } from "../model/secret.ts";

/** A bearer token and its life on this process's monotonic clock. */
export interface Token {
  readonly secret: Secret;
  /** Tells tokens apart without showing them; the same in every process. */
  readonly id: string;
  /** `<site>/<name>` of the set it was issued for. */
  readonly credential: string;
  /** When its token request began: of two tokens, the later is the newer. */
  readonly issuedAtMs: number;
  readonly lifetimeMs: number;
}

/** The first 64 bits of a hash: enough to tell tokens apart, useless to whoever finds it. */
export function tokenId(secret: Secret): string {
  return createHash("sha256").update(secret.reveal()).digest("hex").slice(0, 16);
}

/** Ages that came through a store are exact to the delay of reading it, so a token is never newer than itself. */
export function isNewer(token: Token, than: Token | undefined): boolean {
  return than === undefined || (token.id !== than.id && token.issuedAtMs > than.issuedAtMs);
}

/**
 * `fresh`: use it. `due`: use it, and refresh in the background. `expired`: do not attach it any more; it is dead or
 * within its last stretch.
 */
export type Freshness = "fresh" | "due" | "expired";

/** Where this process draws the lines; drawn once at random, so that replicas do not act in step. */
export interface Thresholds {
  /** Share of the life after which a token is due, 0.80 to 0.88 (spec 5.4: 80 to 90 %). */
  readonly dueShare: number;
  /** Distance from the end, 60,000 to 120,000 ms (spec 8); a tenth of the life where that is shorter. */
  readonly leewayMs: number;
}

const shortestLeewayMs = 60_000;
const leewaySpreadMs = 60_000;

/** @param random uniform in [0, 1) */
export function drawThresholds(random: () => number): Thresholds {
  return { dueShare: 0.8 + 0.08 * random(), leewayMs: shortestLeewayMs + leewaySpreadMs * random() };
}

/** The longest distance from its end at which any replica stops attaching a token. */
export function longestLeewayMs(lifetimeMs: number): number {
  return Math.min(shortestLeewayMs + leewaySpreadMs, lifetimeMs / 10);
}

export function dueAtMs(token: Token, thresholds: Thresholds): number {
  return token.issuedAtMs + token.lifetimeMs * thresholds.dueShare;
}

export function expiredAtMs(token: Token, thresholds: Thresholds): number {
  return token.issuedAtMs + token.lifetimeMs - Math.min(thresholds.leewayMs, token.lifetimeMs / 10);
}

export function freshness(token: Token, thresholds: Thresholds, nowMs: number): Freshness {
  if (nowMs >= expiredAtMs(token, thresholds)) return "expired";
  return nowMs >= dueAtMs(token, thresholds) ? "due" : "fresh";
}
