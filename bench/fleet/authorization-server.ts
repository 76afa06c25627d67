import { type Clock, sleep } from "../../src/model/clock.ts";
import type { TokenEndpoint } from "../../src/oauth/token-endpoint.ts";
import { Lives } from "./lives.ts";

export const lifetimeMs = 3_600_000;
const answerMs = 300;

/** An authorization server in good health: it answers after 300 ms, with a token for an hour. */
export class AuthorizationServer {
  readonly lives = new Lives(lifetimeMs);
  readonly #issuedAtMs = new Map<string, number>();

  /** @param clock the process's own clock: a killed process gets no answer */
  openEndpoint(process: string, clock: Clock): TokenEndpoint {
    const post: TokenEndpoint["post"] = async () => {
      const token = `token_${this.#issuedAtMs.size + 1}`;
      this.#issuedAtMs.set(token, clock.nowMs());
      this.lives.note(clock.nowMs(), process);
      await sleep(clock, answerMs);
      const body = { access_token: token, token_type: "Bearer", expires_in: lifetimeMs / 1_000 };
      return { kind: "answered", status: 200, body: JSON.stringify(body), retryAfter: undefined, date: undefined };
    };
    return {
      connect: async () => undefined,
      post,
      sign: async () => "signed",
      readAssertion: async () => ({ kind: "failed" }),
    };
  }

  /** Whether the service would accept the token now. */
  isAlive(token: string, nowMs: number): boolean {
    const issuedAtMs = this.#issuedAtMs.get(token);
    return issuedAtMs !== undefined && nowMs < issuedAtMs + lifetimeMs;
  }
}
