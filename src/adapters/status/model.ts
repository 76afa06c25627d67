import type { Clock } from "../../model/clock.ts";
import type { Environment } from "../../model/environment.ts";
import type { Event } from "../../model/events.ts";
import { RedisStats } from "./redis-stats.ts";
import { ReloadStats } from "./reload-stats.ts";
import { RequestStats } from "./request-stats.ts";
import type { BoardView } from "./snapshot.ts";
import { TokenStats } from "./token-stats.ts";

/** Keeps what `/status` and the status page show, from the same facts that metrics and logs are made of. */
export class StatusModel {
  readonly #requests: RequestStats;
  readonly #tokens: TokenStats;
  readonly #redis: RedisStats;
  readonly #reload: ReloadStats;

  constructor(clock: Clock) {
    this.#requests = new RequestStats(clock);
    this.#tokens = new TokenStats(clock);
    this.#redis = new RedisStats(clock);
    this.#reload = new ReloadStats(clock);
  }

  /**
   * Takes up what is configured from now on: what stays keeps its history, what is new begins, the rest is forgotten.
   * @param redisNodes the Redis servers in use, as in RedisEvent; none with the memory cache
   */
  follow(environments: readonly Environment[], redisNodes: readonly string[]): void {
    this.#requests.follow(environments);
    this.#tokens.follow(environments);
    this.#redis.follow(redisNodes);
  }

  /** Takes note of a fact. */
  readonly report = (event: Event): void => {
    switch (event.kind) {
      case "request_accepted":
      case "request_finished":
        this.#requests.note(event);
        return;
      case "token_adopted":
      case "token_lapsed":
      case "token_used":
      case "token_requested":
      case "credential_switched":
        this.#tokens.note(event);
        return;
      case "redis_down":
      case "redis_up":
        this.#redis.note(event);
        return;
      case "started":
      case "config_applied":
      case "config_refused":
      case "config_unchanged":
        this.#reload.note(event);
        return;
      default:
        return;
    }
  };

  view(): BoardView {
    const credentials = this.#tokens.view();
    return {
      ...this.#requests.view(credentials),
      credentials,
      redis: this.#redis.view(),
      reload: this.#reload.view(),
    };
  }
}
