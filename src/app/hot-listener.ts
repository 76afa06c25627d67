import { drain } from "../adapters/http-server/drain.ts";
import {
  type Binding,
  createListener,
  type Listener,
  type ListenerSettings,
  type Serving,
} from "../adapters/http-server/listener.ts";
import type { Clock } from "../model/clock.ts";

/** What a listener serves with. Whether requests wait or connections close, the listener itself knows. */
export type ServingOn = Omit<Serving, "settings"> & {
  readonly settings: Omit<ListenerSettings, "isDraining" | "held">;
  /** `timeouts.request`. */
  readonly requestMs: number;
};

/** Time for the last responses, and for 503s to latecomers, after the last request could have ended. */
const lateMs = 2_000;

/**
 * A listener that stays, with its connections, while configurations come and go. It listens before its first configuration
 * is active; until then requests wait.
 */
export class HotListener {
  /** Where it listens, as configured. */
  readonly name: string;
  readonly listener: Listener;
  readonly #clock: Clock;
  #serving: Serving;
  #longestRequestMs = 0;
  /** While requests wait: until when. */
  #paused: Promise<void> | undefined;
  #resume = () => {};
  #isActive = false;
  #isDraining = false;

  constructor(binding: Binding, serving: ServingOn, clock: Clock) {
    this.name = binding.name;
    this.#clock = clock;
    this.#serving = this.#complete(serving);
    this.listener = createListener(() => this.#serving, binding);
    this.#pause();
  }

  /** The longest that a request may take: each has the deadline of the configuration that accepted it. */
  get longestRequestMs(): number {
    return this.#longestRequestMs;
  }

  /** Serves so from the next request on, on open connections as well. */
  serve(serving: ServingOn): void {
    this.#serving = this.#complete(serving);
    this.listener.renew();
    if (!this.#isActive) this.#resume();
    this.#isActive = true;
  }

  /**
   * Lets open requests end. Every connection closes with its next response.
   * @param openMs how long open requests may take
   * @param onTimeUp called then, before latecomers are answered
   * @returns whether all connections were gone in time
   */
  drain(openMs = this.#longestRequestMs, onTimeUp = () => {}): Promise<boolean> {
    const hold = () => {
      this.#pause();
      return () => {
        this.#isDraining = true;
        this.#resume();
      };
    };
    return drain(this.listener, this.#clock, { hold, openMs, onTimeUp, lateMs });
  }

  /** Makes new requests wait for `#resume`. */
  #pause(): void {
    this.#paused ??= new Promise((resolve) => {
      this.#resume = () => {
        this.#paused = undefined;
        resolve();
      };
    });
  }

  #complete({ settings, requestMs, ...serving }: ServingOn): Serving {
    this.#longestRequestMs = Math.max(this.#longestRequestMs, requestMs);
    return { ...serving, settings: { ...settings, isDraining: () => this.#isDraining, held: () => this.#paused } };
  }
}
