import { Connections } from "../adapters/node-http/connections.ts";
import {
  createListener,
  type Listener,
  type ListenerSettings,
  type Place,
  type Serving,
} from "../adapters/node-http/listener.ts";
import type { Clock } from "../clock.ts";

/** What a listener serves with; whether it is closing, the door itself knows. */
export type ServingAtDoor = Omit<Serving, "settings"> & {
  readonly settings: Omit<ListenerSettings, "isDraining" | "held">;
};

/** A listener that stays, with its connections, while configurations come and go. */
export class OpenDoor {
  readonly listener: Listener;
  readonly connections: Connections;
  #held: Promise<void> | undefined;
  #isClosing = false;
  #serving: Serving;

  constructor(place: Place, serving: ServingAtDoor, clock: Clock) {
    this.#serving = this.#complete(serving);
    this.listener = createListener(() => this.#serving, place);
    this.connections = new Connections(this.listener.server, clock);
  }

  /** Serves so from the next request on, on open connections as well. */
  serve(serving: ServingAtDoor): void {
    this.#serving = this.#complete(serving);
    this.listener.renew();
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
      letGo();
    };
  }

  #complete({ settings, ...serving }: ServingAtDoor): Serving {
    return { ...serving, settings: { ...settings, isDraining: () => this.#isClosing, held: () => this.#held } };
  }
}
