import type { Fault as Misbehaviour } from "../../simulator/src/service/fault.ts";
import type { Fault, Scene } from "./fault.ts";
import { tokenTimeoutMs } from "./folder.ts";

/** Long enough for a token to become due but once in a while. */
export const tokenLifetimeSeconds = 1_800;
const shortLifetimeSeconds = 2;
/** Less than callers wait for a token. */
const slowMs = tokenTimeoutMs / 2;

/**
 * What callers may see when all tokens are revoked. After an outage of Redis replicas may hold different tokens until these
 * are due; one that finds the other's in the cache then tries it, once, and it is no better.
 */
export const revoked = "service 401 twice";
/** What they see where no other token can be had: the service's 401 to what was revoked, then our own failure. */
const noToken = ["token_unavailable not_sent", "service 401", revoked];

export const faultsOfTokens: readonly Fault[] = [
  {
    name: "all tokens revoked",
    allows: [revoked],
    tokens: 1,
    async begin({ simulator }) {
      simulator.revokeAllTokens();
      return async () => {};
    },
  },
  {
    name: `tokens live ${shortLifetimeSeconds} s`,
    allows: [revoked],
    tokens: 2,
    // Refreshes are at least one second apart, however short the life.
    tokensPerSecond: 1,
    async begin({ simulator }) {
      simulator.setTokenLifetimeSeconds(shortLifetimeSeconds);
      simulator.revokeAllTokens();
      return async () => simulator.setTokenLifetimeSeconds(tokenLifetimeSeconds);
    },
  },
  {
    name: "authorization server away, tokens live on",
    allows: [],
    tokens: 0,
    begin: stopLogin,
  },
  {
    name: "authorization server away, tokens revoked",
    allows: noToken,
    feltAfterMs: 2 * tokenTimeoutMs,
    tokens: 1,
    async begin(scene) {
      const end = await stopLogin(scene);
      scene.simulator.revokeAllTokens();
      return end;
    },
  },
  felt(
    revokedWhile("authorization server answers 503, tokens revoked", noToken, {
      host: "login",
      kind: "answer",
      status: 503,
    }),
  ),
  felt(
    revokedWhile("authorization server answers 429, tokens revoked", noToken, {
      host: "login",
      kind: "answer",
      status: 429,
      headers: { "retry-after": "1" },
    }),
  ),
  revokedWhile("authorization server slow, tokens revoked", [revoked], {
    host: "login",
    kind: "delay",
    delayMs: slowMs,
  }),
];

async function stopLogin({ simulator }: Scene): Promise<() => Promise<void>> {
  await simulator.stopLogin();
  return () => simulator.startLogin();
}

/** Callers wait for a token first. */
function felt(fault: Fault): Fault {
  return { ...fault, feltAfterMs: 2 * tokenTimeoutMs };
}

function revokedWhile(name: string, allows: readonly string[], misbehaviour: Misbehaviour): Fault {
  return {
    name,
    allows,
    tokens: 1,
    async begin({ simulator }) {
      const planned = simulator.faults.add({ ...misbehaviour, times: "until_cleared" });
      simulator.revokeAllTokens();
      return async () => planned.clear();
    },
  };
}
