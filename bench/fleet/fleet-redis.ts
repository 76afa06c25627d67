import { randomBytes } from "node:crypto";
import { redisKeys } from "../../src/adapters/redis/scripts.ts";
import type { RedisAccess } from "../../src/model/redis-access.ts";
import { Secret } from "../../src/model/secret.ts";
import { openRedis, type RealRedis } from "../../testkit/redis.ts";
import { setTimeLua } from "./script-time.ts";

/**
 * The commands that clients send, as INFO commandstats names them. It also lists the commands that scripts call (GET, SET,
 * PTTL, TIME, …), but no script calls the matched ones.
 */
const sentByClients = /^cmdstat_(?:evalsha|eval|hello|info|ping|auth|client\|\w+|select):calls=(\d+)/gm;

/** The fleet's only Redis: a real process that follows the injected clock, and counts its commands itself. */
export class FleetRedis {
  /** The replicas' access to Redis. */
  readonly access: RedisAccess;
  readonly #server: RealRedis;
  readonly #keys: readonly string[];
  /** How far Redis's clock is ahead of the injected clock. */
  #aheadMs: number | "" = "";
  #setAtMs = Number.NaN;
  #setting: Promise<void> = Promise.resolve();
  /** Commands of the fleet until Redis was last killed. */
  #before = 0;
  /** Commands of this class since then. */
  #own = 0;
  #greeting = 0;
  #isAway = false;

  private constructor(server: RealRedis, cacheKey: string) {
    this.#server = server;
    this.access = {
      place: { kind: "standalone", node: { kind: "tcp", host: "127.0.0.1", port: server.port, tls: false, db: 0 } },
      lockNodes: [],
      username: undefined,
      password: undefined,
      tls: undefined,
      confirmsOnce: false,
      encryptionKeys: [new Secret(randomBytes(32))],
    };
    const { token, lock, endpoint } = redisKeys(cacheKey);
    this.#keys = [token, lock, endpoint];
  }

  static async open(cacheKey: string): Promise<FleetRedis> {
    const redis = new FleetRedis(await openRedis(), cacheKey);
    await redis.#greet();
    return redis;
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  /** Sets Redis's clock to a moment, before any command of that moment is sent. */
  setTime(wallMs: number): Promise<void> {
    if (wallMs !== this.#setAtMs && !this.#isAway) {
      this.#setAtMs = wallMs;
      this.#setting = this.#set(Math.floor(wallMs));
    }
    return this.#setting;
  }

  async #set(wallMs: number): Promise<void> {
    this.#own += 1;
    const ahead = await this.#server.command(
      "EVAL",
      setTimeLua,
      this.#keys.length,
      ...this.#keys,
      this.#aheadMs,
      wallMs,
    );
    this.#aheadMs = Number(ahead);
  }

  /** Commands that the fleet has sent so far. */
  async commands(): Promise<number> {
    return this.#isAway ? this.#before : this.#before + (await this.#count());
  }

  async #count(): Promise<number> {
    const stats = String(await this.#server.command("INFO", "commandstats"));
    this.#own += 1;
    let calls = 0;
    for (const [, count] of stats.matchAll(sentByClients)) calls += Number(count);
    // INFO does not count itself yet.
    return calls - (this.#own - 1);
  }

  /** The commands that this class sends to connect, again after each restart, are not the fleet's. */
  async #greet(): Promise<void> {
    await this.#server.command("TIME");
    this.#greeting = await this.#count();
    this.#own += this.#greeting;
  }

  async kill(): Promise<void> {
    this.#before = await this.commands();
    this.#isAway = true;
    await this.#server.kill();
  }

  /** Starts Redis again on its port, empty. */
  async restart(): Promise<void> {
    await this.#server.restart();
    this.#isAway = false;
    this.#own = this.#greeting;
    this.#aheadMs = "";
    this.#setAtMs = Number.NaN;
  }

  end(): Promise<void> {
    return this.#server.end();
  }
}
