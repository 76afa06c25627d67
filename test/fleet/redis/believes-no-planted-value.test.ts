/** A value in Redis is sent upstream only if a replica sealed it for exactly this set; any other is counted and overwritten. */
import { expect, it } from "vitest";
import { redisKeys } from "../../../src/adapters/redis/scripts.ts";
import { openToken, sealToken } from "../../../src/adapters/redis/token-store.ts";
import { cacheKey } from "../../../src/oauth/token.ts";
import { call } from "../../../testkit/call.ts";
import { issued } from "../../../testkit/issued-token.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { sealKey } from "../../../testkit/redis-replica.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { oauthSite, type Stage, stage } from "../../../testkit/stage.ts";

const planted = issued("planted-token", 3_600_000);
const hourSeconds = "3600";

const sealed = (name: string, key = sealKey()) => sealToken([key], name, planted);

const kinds: Record<string, Plant> = {
  "an empty string": text(""),
  "a bare token": text("planted-token"),
  "the word undefined": text("undefined"),
  "a token answer": text('{"access_token":"planted-token","token_type":"Bearer","expires_in":3600}'),
  "a number": text("12345678901234567890"),
  "the form without a body": text("1:1700000000000:"),
  "the form with a token in the clear": text("1:1700000000000:planted-token"),
  "another version of the form": text((name) => `2:1700000000000:${sealed(name)}`),
  "a sealed token without the form": text((name) => sealed(name)),
  "a moment that is no number": text((name) => `1:soon:${sealed(name)}`),
  "a genuine token with a moment in the future": text((name) => `1:${Date.now() + 60_000}:${sealed(name)}`),
  "a moment in the future, and malformed": text("1:99999999999999:cmVhbGx5IG5vdCBhIHRva2Vu"),
  "another set's value": text(`1:1700000000000:${sealed(redisKeys("another").token)}`),
  "a value sealed with another key": text((name) => `1:1700000000000:${sealed(name, sealKey(9))}`),
  "a newer value sealed with another key": text((name) => `1:${Date.now() - 1}:${sealed(name, sealKey(9))}`),
  "a sealed token cut short": text((name) => `1:1700000000000:${sealed(name).slice(0, -4)}`),
  "a sealed token without its tag": text((name) => `1:1700000000000:${sealed(name).slice(0, -22)}`),
  "a sealed token with one character changed": text((name) => {
    const body = sealed(name);
    return `1:1700000000000:${body.slice(0, 30)}${body[30] === "A" ? "B" : "A"}${body.slice(31)}`;
  }),
  "a sealed token with more behind it": text((name) => `1:1700000000000:${sealed(name)}AAAA`),
  "a sealed token with a line break": text((name) => `1:1700000000000:${sealed(name)}\r\nX: y`),
  "a sealed token that never ends": (redis, name) => redis.command("SET", name, `1:1700000000000:${sealed(name)}`),
  "a megabyte": text("x".repeat(1_048_576)),
  "bytes that are no text": text("\u0000\u0001\ufffd\uffff"),
  "a list": (redis, name) => redis.command("LPUSH", name, "planted-token"),
  "a hash": (redis, name) => redis.command("HSET", name, "token", "planted-token"),
  "a set": (redis, name) => redis.command("SADD", name, "planted-token"),
};

it.each(Object.entries(kinds))("is counted, overwritten and never sent: %s", async (_, plant) => {
  const redis = await startRedis();
  const clock = new ShiftedClock();
  const staged = await stage("replica", redis.port, {}, undefined, { surroundings: { clock } });
  expect((await call(staged.url)).status).toBe(200);
  const { token: name } = redisKeys(keyOf(staged));
  await redis.command("DEL", name);
  await plant(redis, name);
  staged.simulator.revokeAllTokens();
  // Refreshes are a second apart.
  clock.push(1_000);

  expect((await call(staged.url)).status).toBe(200);

  const counts = staged.simulator.counts();
  expect(counts.tokenRequests).toBe(2);
  expect(counts.apiRequests).toBe(3);
  expect(staged.simulator.seen.apiRequests.map(({ token }) => token)).toEqual(["token_1", "token_1", "token_2"]);
  expect(staged.recorder.of("token_cache_read").some(({ result }) => result === "unreadable")).toBe(true);
  const [, , body = ""] = String(await redis.command("GET", name)).split(":");
  expect(openToken([sealKey()], name, body)?.secret.reveal()).toBe("token_2");
  expect(Number(await redis.command("PTTL", name))).toBeGreaterThan(1_000);
});

function keyOf({ config }: Stage): string {
  const environment = config.environments.get("sandbox");
  const set = environment?.sites.get(oauthSite)?.credentials?.sets[0];
  const authUrl = environment?.authUrl;
  if (authUrl === undefined || set === undefined) throw new Error("the stage has a set");
  return cacheKey(`${authUrl.origin}${authUrl.path}/oauth/token`, set);
}

type Plant = (redis: RealRedis, name: string) => Promise<unknown>;

/** Writes a value that expires in an hour. */
function text(value: string | ((name: string) => string)): Plant {
  return (redis, name) =>
    redis.command("SET", name, typeof value === "string" ? value : value(name), "EX", hourSeconds);
}
