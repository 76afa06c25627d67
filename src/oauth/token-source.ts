import type { Token } from "./token.ts";

/** The front door of the token wing: the tokens of one site. Deadlines are on the monotonic clock. */
export interface TokenSource {
  /**
   * A token that may be attached now. Waits only when there is none, for `timeouts.token` at most.
   * @throws ProxyError token_unavailable, credentials_refused
   */
  get(deadlineMs: number): Promise<Token>;

  /** The service took this token with a first attempt: it answered anything but 401 or a 5xx. */
  accepted(token: Token, site: string): void;

  /** The service took this token with the retry of a request that it had answered 401. */
  cured(token: Token, site: string): void;

  /**
   * The service answered 401. Resolves to a newer token for the one retry, or to undefined when none is to be had: the
   * refresh failed, is suppressed, or did not end before the deadline.
   */
  replace(token: Token, site: string, deadlineMs: number): Promise<Token | undefined>;

  /** The service answered 401 to the retry as well. */
  refusedAgain(token: Token, site: string): void;
}
