import type { TokenEndpoint, TokenResponse } from "../src/oauth/token-endpoint.ts";

type PostResult = Awaited<ReturnType<TokenEndpoint["post"]>>;

/** An authorization server's next answers. Without any left it issues `token_N`, N counting its answers, for an hour. */
export class TokenEndpointScript {
  /** Client ids in the order they asked. */
  readonly asked: string[] = [];
  readonly timeoutsMs: number[] = [];
  readonly #answers: (() => PostResult | Promise<PostResult>)[] = [];
  lifetimeSeconds = 3_600;
  /** Whether requests get a connection. */
  isConnected = true;
  /** What stands in the file of each set that has one. */
  assertion: Awaited<ReturnType<TokenEndpoint["readAssertion"]>> = { text: "read", expiresAtMs: undefined };

  readonly endpoint: TokenEndpoint = {
    post: async ({ body }, timeoutMs, onConnected) => {
      this.timeoutsMs.push(timeoutMs);
      if (this.isConnected) onConnected();
      this.asked.push(new URLSearchParams(body).get("client_id") ?? "");
      const next = this.#answers.shift();
      return next === undefined ? this.issued(this.asked.length) : next();
    },
    sign: async () => "signed",
    readAssertion: async () => this.assertion,
  };

  get requests(): number {
    return this.asked.length;
  }

  /** The next request gets this answer. */
  next(answer: PostResult | (() => PostResult | Promise<PostResult>)): this {
    this.#answers.push(typeof answer === "function" ? answer : () => answer);
    return this;
  }

  issued(n: number): PostResult {
    return answered(
      200,
      JSON.stringify({ access_token: `token_${n}`, token_type: "Bearer", expires_in: this.lifetimeSeconds }),
    );
  }

  /** The next request is answered when the returned function is called. */
  hold(): () => void {
    let release: (result: PostResult) => void = () => {};
    const held = new Promise<PostResult>((resolve) => {
      release = resolve;
    });
    this.next(() => held);
    return () => release(this.issued(this.requests));
  }
}

export function answered(status: number, body = "", retryAfter?: string): TokenResponse {
  return { kind: "answered", status, body, retryAfter, date: undefined };
}
