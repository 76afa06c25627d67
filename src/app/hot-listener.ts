import {
  type Binding,
  createListener,
  type Listener,
  type ListenerSettings,
  type Serving,
} from "../adapters/http-server/listener.ts";

/** What a listener serves with; whether it is closing, the door itself knows. */
export type ServingOn = Omit<Serving, "settings"> & {
  readonly settings: Omit<ListenerSettings, "isDraining" | "held">;
  /** `timeouts.request`. */
  readonly requestMs: number;
};

/**
 * A listener that stays, with its connections, while configurations come and go. It listens before its first configuration
 * is in force; until then requests wait.
 */
export class HotListener {
  /** Where it listens, as configured. */
  readonly name: string;
  readonly listener: Listener;
  #held: Promise<void> | undefined;
  /** Lets the requests go on that wait for the first configuration. */
  #open = () => {};
  #isOpen = false;
  #isClosing = false;
  #serving: Serving;
  #longestRequestMs = 0;

  constructor(place: Binding, serving: ServingOn) {
    this.#held = new Promise((resolve) => {
      this.#open = resolve;
    });
    this.name = place.name;
    this.#serving = this.#complete(serving);
    this.listener = createListener(() => this.#serving, place);
  }

  /** The longest that a request may take which came in here: each has the deadline of the configuration that accepted it. */
  get longestRequestMs(): number {
    return this.#longestRequestMs;
  }

  /** Serves so from the next request on, on open connections as well. */
  serve(serving: ServingOn): void {
    this.#serving = this.#complete(serving);
    this.listener.renew();
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#held = undefined;
    this.#open();
  }

  /** Makes new requests wait. What it returns lets them go on; from then on each answer ends its connection. */
  hold(): () => void {
    let letGo = () => {};
    this.#held = new Promise((resolve) => {
      letGo = resolve;
    });
    return () => {
      this.#held = undefined;
      this.#isClosing = true;
      this.#open();
      letGo();
    };
  }

  #complete({ settings, requestMs, ...serving }: ServingOn): Serving {
    this.#longestRequestMs = Math.max(this.#longestRequestMs, requestMs);
    return { ...serving, settings: { ...settings, isDraining: () => this.#isClosing, held: () => this.#held } };
  }
}
