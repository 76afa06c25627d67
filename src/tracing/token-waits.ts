import type { Environment } from "../model/environment.ts";
import type { SpanLink } from "./span.ts";

/** A recorded request that waits for a token. */
export interface TokenWait extends SpanLink {
  readonly environment: Environment;
  /** S… of its site. */
  readonly site: string | undefined;
  readonly startMs: number;
  /** Token requests of other traces that it waited for too. */
  readonly links: SpanLink[];
}

/** Those that wait at this moment. */
export class TokenWaits {
  readonly #open = new Set<TokenWait>();

  add(wait: TokenWait): void {
    this.#open.add(wait);
  }

  delete(wait: TokenWait): void {
    this.#open.delete(wait);
  }

  /**
   * Those that a token of this set would end, the longest wait first.
   * @param credential `<site>/<name>`
   */
  of(environment: string, credential: string): TokenWait[] {
    return [...this.#open].filter((wait) => {
      if (wait.environment.name !== environment || wait.site === undefined) return false;
      const sets = wait.environment.sites.get(wait.site)?.credentials?.sets ?? [];
      return sets.some(({ label }) => label === credential);
    });
  }
}
