import type { TokenEndpoint, TokenResponse } from "../src/oauth/token-endpoint.ts";

type PostResult = Awaited<ReturnType<TokenEndpoint["post"]>>;

/** Scripts the next answers of an authorization server. Without a script it issues `token_N`, valid for an hour; N counts its answers. */
export class TokenEndpointScript {
  /** Client ids, in the order of their requests. */
  readonly asked: string[] = [];
  readonly timeoutsMs: number[] = [];
  readonly #answers: (() => PostResult | Promise<PostResult>)[] = [];
  #answer = (_: string, n: number): PostResult => this.issued(n);
  lifetimeSeconds = 3_600;
  /** How an attempt to connect ends. */
  connected: ReturnType<TokenEndpoint["connect"]> = Promise.resolve(undefined);
  /** The content of the assertion file, for each set that has one. */
  assertion: Awaited<ReturnType<TokenEndpoint["readAssertion"]>> = { text: "read", expiresAtMs: undefined };

  readonly endpoint: TokenEndpoint = {
    connect: async () => this.connected,
    post: async ({ body }, timeoutMs) => {
      this.timeoutsMs.push(timeoutMs);
      this.asked.push(new URLSearchParams(body).get("client_id") ?? "");
      const next = this.#answers.shift();
      return next === undefined ? this.#answer(this.asked.at(-1) ?? "", this.asked.length) : next();
    },
    sign: async () => "signed",
    readAssertion: async () => this.assertion,
  };

  get requests(): number {
    return this.asked.length;
  }

  /** Scripts the answers to all further requests: the n-th one is `clientId`'s. */
  answer(answer: (clientId: string, n: number) => PostResult): void {
    this.#answer = answer;
  }

  /** Scripts the answer to the next request. */
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

  /** Holds the answer to the next request until the returned function is called. */
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
