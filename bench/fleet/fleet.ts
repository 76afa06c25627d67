import type { Event } from "../../src/model/events.ts";
import { seededRandom } from "../../testkit/seeded-random.ts";
import { type Ground, type Replica, startReplica } from "./replica.ts";

/** The place of a replica; its application stays when the replica is restarted. */
interface Place {
  readonly index: number;
  replica: Replica | undefined;
  starts: number;
  link: "connecting" | "up" | "down";
  commands: number;
}

/** The counts since the last account. */
export interface Account {
  readonly orders: number;
  /** Orders without a token, or with one that the service would refuse. */
  readonly failures: number;
  readonly longestWaitMs: number;
  readonly restarts: number;
  /** Redis commands as the clients count them: all, and those of the one replica that sent most. */
  readonly sentCommands: number;
  readonly mostCommands: number;
}

/** Time between an application's orders: short enough that its token counts as used, so the timer refreshes it. */
const orderEveryMs = 300_000;
const linkTimeoutMs = 60_000;

/** A thousand replicas, one application at each, and one Redis. */
export class Fleet {
  readonly #ground: Ground;
  readonly #random: () => number;
  readonly #places: readonly Place[];
  #orders = 0;
  #failures = 0;
  #longestWaitMs = 0;
  #restarts = 0;
  /** How often Redis did not answer without being killed: then this machine is too slow, and nothing is proved. */
  #surprises = 0;
  #noteLink: () => void = () => {};

  constructor(ground: Ground, size: number, random: () => number) {
    this.#ground = ground;
    this.#random = random;
    this.#places = Array.from({ length: size }, (_, index) => {
      return { index, replica: undefined, starts: 0, link: "connecting", commands: 0 };
    });
  }

  /** Starts each replica at a random moment within this time; 0 starts all together, the hardest case for Redis. */
  start(withinMs: number): void {
    for (const place of this.#places) {
      this.#ground.clock.after(withinMs * this.#random(), () => {
        this.#startAt(place);
        this.#orderLater(place, orderEveryMs * this.#random());
      });
    }
  }

  /** Kills a replica, and starts it again with empty memory. */
  restart(index: number): void {
    const place = this.#places[index];
    if (place === undefined) throw new Error(`there is no replica ${index}`);
    place.replica?.kill();
    this.#restarts += 1;
    this.#startAt(place);
  }

  /** Kills Redis; resolves when every replica has noticed. */
  async loseRedis(): Promise<void> {
    await this.#ground.redis.kill();
    await this.#untilEveryLinkIs("down");
  }

  /** Starts Redis again, empty; resolves when every replica is connected. */
  async regainRedis(): Promise<void> {
    await this.#ground.redis.restart();
    await this.#untilEveryLinkIs("up");
  }

  drawUpAccount(): Account {
    if (this.#surprises > 0) throw new Error(`Redis failed ${this.#surprises} times on its own: nothing is proved`);
    const account = {
      orders: this.#orders,
      failures: this.#failures,
      longestWaitMs: this.#longestWaitMs,
      restarts: this.#restarts,
      sentCommands: this.#places.reduce((sum, { commands }) => sum + commands, 0),
      mostCommands: Math.max(...this.#places.map(({ commands }) => commands)),
    };
    for (const place of this.#places) place.commands = 0;
    this.#orders = this.#failures = this.#longestWaitMs = this.#restarts = 0;
    return account;
  }

  close(): void {
    for (const { replica } of this.#places) replica?.kill();
  }

  #startAt(place: Place): void {
    place.starts += 1;
    place.link = "connecting";
    place.replica = startReplica({
      ...this.#ground,
      name: `${place.index}.${place.starts}`,
      random: seededRandom(Math.floor(this.#random() * 2 ** 32)),
      hear: (event) => this.#hear(place, event),
      countCommand: () => {
        place.commands += 1;
      },
    });
  }

  #hear(place: Place, event: Event): void {
    const hasFailed = event.kind === "redis_failed" || event.kind === "redis_down";
    // A command that finds no connection yet fails too, after a restart of either side.
    if (hasFailed && place.link === "up" && !this.#ground.redis.isAway) this.#surprises += 1;
    if (event.kind !== "redis_up" && event.kind !== "redis_down") return;
    place.link = event.kind === "redis_up" ? "up" : "down";
    this.#noteLink();
  }

  async #untilEveryLinkIs(link: "up" | "down"): Promise<void> {
    const isSo = () => this.#places.every((place) => place.link === link);
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`not every link is ${link}`)), linkTimeoutMs);
      this.#noteLink = () => {
        if (!isSo()) return;
        clearTimeout(late);
        resolve();
      };
      this.#noteLink();
    });
    this.#noteLink = () => {};
  }

  #orderLater(place: Place, delayMs: number): void {
    this.#ground.clock.after(delayMs, () => {
      this.#order(place);
      this.#orderLater(place, orderEveryMs);
    });
  }

  #order(place: Place): void {
    const { clock, login } = this.#ground;
    const sinceMs = clock.nowMs();
    this.#orders += 1;
    const fail = () => {
      this.#failures += 1;
    };
    place.replica?.order().then((token) => {
      const nowMs = clock.nowMs();
      this.#longestWaitMs = Math.max(this.#longestWaitMs, nowMs - sinceMs);
      if (!login.isAlive(token, nowMs)) fail();
    }, fail);
  }
}
