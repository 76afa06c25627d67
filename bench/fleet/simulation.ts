import { randomBytes } from "node:crypto";
import type { CredentialSet } from "../../src/model/environment.ts";
import { Secret } from "../../src/model/secret.ts";
import { cacheKey } from "../../src/oauth/token.ts";
import { seededRandom } from "../../testkit/seeded-random.ts";
import { AuthorizationServer, lifetimeMs } from "./authorization-server.ts";
import { type Account, Fleet } from "./fleet.ts";
import { FleetRedis } from "./fleet-redis.ts";
import { drawTroubles, type Phase, sharePhases, type Troubles } from "./plan.ts";
import { SimulatedClock } from "./simulated-clock.ts";
import { Work } from "./work.ts";

export interface SimulationOptions {
  readonly seed: number;
  readonly replicas: number;
  readonly lifetimes: number;
  /** How long it takes until every replica has been started. */
  readonly startWithinMs: number;
}

/** One life of the fleet's token. */
export interface LifeRow extends Account {
  /** From 1. */
  readonly life: number;
  readonly phase: Phase;
  readonly lengthMs: number;
  readonly tokenRequests: number;
  /** Token requests of processes whose previous one is less than a life ago. */
  readonly repeatedRequests: number;
  /** Redis commands of the whole fleet, as Redis counts them. */
  readonly commands: number;
  readonly redisAwayMs: number;
}

export interface Simulated {
  readonly rows: readonly LifeRow[];
  readonly events: number;
}

/** A late token of one life may delay the next life by one more lifetime. */
const longestLifeMs = 3 * lifetimeMs;

const set: CredentialSet = {
  label: "S1/blue",
  name: "blue",
  clientId: "client-blue",
  clientSecret: new Secret(randomBytes(32).toString("hex")),
  audience: "https://api.fleet.example",
};
const key = cacheKey("https://login.fleet.example", set);

/** @param hear gets each row as soon as its life is over */
export async function simulate(
  options: SimulationOptions,
  hear: (row: LifeRow) => void = () => {},
): Promise<Simulated> {
  const redis = await FleetRedis.open(key);
  const simulation = new Simulation(options, redis);
  try {
    return await simulation.run(hear);
  } finally {
    simulation.close();
    await redis.end();
  }
}

class Simulation {
  readonly #options: SimulationOptions;
  readonly #work = new Work();
  readonly #clock = new SimulatedClock(this.#work);
  readonly #login = new AuthorizationServer();
  readonly #redis: FleetRedis;
  readonly #fleet: Fleet;
  readonly #random: () => number;
  #outages: { readonly fromMs: number; untilMs: number }[] = [];

  constructor(options: SimulationOptions, redis: FleetRedis) {
    this.#options = options;
    this.#redis = redis;
    this.#random = seededRandom(options.seed);
    const ground = { clock: this.#clock, work: this.#work, login: this.#login, redis, set, key };
    this.#fleet = new Fleet(ground, options.replicas, seededRandom(options.seed + 1));
  }

  async run(hear: (row: LifeRow) => void): Promise<Simulated> {
    const rows: LifeRow[] = [];
    const phases = sharePhases(this.#options.lifetimes);
    this.#fleet.start(this.#options.startWithinMs);
    await this.#runUntilLife(1);
    let commandsBefore = 0;
    for (const [index, phase] of phases.entries()) {
      this.#schedule(drawTroubles(phase, phases[index - 1] !== phase, this.#options.replicas, this.#random));
      await this.#runUntilLife(index + 2);
      const commandsSoFar = await this.#redis.commands();
      const row = { ...this.#describe(index), phase, commands: commandsSoFar - commandsBefore };
      commandsBefore = commandsSoFar;
      rows.push(row);
      hear(row);
    }
    return { rows, events: this.#clock.count };
  }

  /** @param life from 1 */
  async #runUntilLife(life: number): Promise<void> {
    const { lives } = this.#login;
    const latestMs = this.#clock.nowMs() + longestLifeMs;
    const isOver = () => lives.count >= life || this.#clock.nowMs() > latestMs;
    await this.#clock.runUntil(isOver);
    if (lives.count < life) throw new Error(`no replica asked for token ${life}: nothing is proved`);
  }

  close(): void {
    this.#fleet.close();
  }

  #schedule({ restarts, outage }: Troubles): void {
    for (const { replica, atMs } of restarts) this.#clock.after(atMs, () => this.#fleet.restart(replica));
    if (outage !== undefined)
      this.#clock.after(outage.atMs, () => this.#work.begin(this.#goWithoutRedis(outage.forMs)));
  }

  async #goWithoutRedis(forMs: number): Promise<void> {
    if (this.#redis.isAway) return;
    const fromMs = this.#clock.nowMs();
    this.#outages.push({ fromMs, untilMs: fromMs + forMs });
    await this.#fleet.loseRedis();
    this.#clock.after(forMs, () => this.#work.begin(this.#fleet.regainRedis()));
  }

  #describe(index: number): Omit<LifeRow, "phase" | "commands"> {
    const { lives } = this.#login;
    const life = lives.at(index);
    const endMs = lives.at(index + 1).beganAtMs;
    const redisAwayMs = this.#outages
      .map(({ fromMs, untilMs }) => Math.min(untilMs, endMs) - Math.max(fromMs, life.beganAtMs))
      .reduce((sum, awayMs) => sum + Math.max(0, awayMs), 0);
    return {
      life: index + 1,
      lengthMs: endMs - life.beganAtMs,
      tokenRequests: life.requests,
      repeatedRequests: life.repeats,
      redisAwayMs,
      ...this.#fleet.drawUpAccount(),
    };
  }
}
