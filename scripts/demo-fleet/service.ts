import { type Simulator, startSimulator } from "../../simulator/src/service/simulator.ts";
import type { ServiceCounts } from "./account.ts";
import { site } from "./folder.ts";

/** The payment service, simulated: it counts tokens and 401s itself, and knows which token each request carried. */
export interface Service extends Pick<Simulator, "apiUrl" | "loginUrl" | "stop"> {
  readonly tokensIssued: number;
  readonly tokenRequests: number;
  readonly ordersCreated: number;
  /** @param sinceMs `tokensInUse` looks at requests that arrived later (wall clock) */
  count(sinceMs: number): ServiceCounts;
  /** Whether everything that arrived lately carried the newest token. */
  isNewestInUse(): boolean;
  revokeAllTokens(): void;
  /** The next token request gets its answer so late; those after it are not delayed. */
  delayNextToken(delayMs: number): void;
}

const latelyMs = 500;
/** Fewer requests say nothing. */
const enoughRequests = 8;

export async function startService(tokenLifetimeSeconds: number): Promise<Service> {
  const simulator = await startSimulator({ sites: [site], tokenLifetimeSeconds });
  const { apiUrl, loginUrl, seen } = simulator;
  const tokensSince = (sinceMs: number) =>
    seen.apiRequests.filter(({ receivedAtMs }) => receivedAtMs > sinceMs).map(({ token }) => token);
  return {
    apiUrl,
    loginUrl,
    stop: () => simulator.stop(),
    get tokensIssued() {
      return simulator.counts().tokensIssued;
    },
    get tokenRequests() {
      return simulator.counts().tokenRequests;
    },
    get ordersCreated() {
      return simulator.counts().accepted;
    },
    count(sinceMs) {
      const { unauthorized, tokensIssued } = simulator.counts();
      return { unauthorized, tokensIssued, tokensInUse: new Set(tokensSince(sinceMs)).size };
    },
    isNewestInUse() {
      const newest = seen.tokenRequests.at(-1)?.token;
      const tokens = tokensSince(Date.now() - latelyMs);
      return tokens.length >= enoughRequests && tokens.every((token) => token === newest);
    },
    revokeAllTokens: () => simulator.revokeAllTokens(),
    delayNextToken(delayMs) {
      simulator.faults.add({ host: "login", kind: "delay", delayMs });
    },
  };
}
