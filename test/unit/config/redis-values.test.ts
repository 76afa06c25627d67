import { describe, expect, test } from "vitest";
import { hostPortForm, redisNodeForm } from "../../../src/config/form/values.ts";
import { describeRedisNode } from "../../../src/model/redis-access.ts";

const tcp = (host: string, port: number, tls: boolean, db: number) => ({ kind: "tcp", host, port, tls, db }) as const;
const unix = (path: string, db: number) => ({ kind: "unix", path, db }) as const;

describe("Redis URLs", () => {
  test.each([
    ["redis://cache", tcp("cache", 6379, false, 0), "redis://cache:6379"],
    ["redis://cache/", tcp("cache", 6379, false, 0), "redis://cache:6379"],
    ["rediss://Cache.Example:6380/12", tcp("cache.example", 6380, true, 12), "rediss://cache.example:6380/12"],
    ["redis://my_cache:1", tcp("my_cache", 1, false, 0), "redis://my_cache:1"],
    ["redis://10.0.0.1:65535/999", tcp("10.0.0.1", 65_535, false, 999), "redis://10.0.0.1:65535/999"],
    ["redis://[0:0::1]", tcp("::1", 6379, false, 0), "redis://[::1]:6379"],
    ["rediss://[fe00::A]:1/1", tcp("fe00::a", 1, true, 1), "rediss://[fe00::a]:1/1"],
    ["unix:/run/redis.sock", unix("/run/redis.sock", 0), "unix:/run/redis.sock"],
    ["unix:///run/redis.sock", unix("/run/redis.sock", 0), "unix:/run/redis.sock"],
    ["unix:/run/redis.sock?db=15", unix("/run/redis.sock", 15), "unix:/run/redis.sock?db=15"],
  ])("%s", (text, node, described) => {
    expect(redisNodeForm.read(text)).toStrictEqual({ value: node });
    expect(text).toMatch(redisNodeForm.pattern);
    expect(describeRedisNode(node)).toBe(described);
    expect(redisNodeForm.read(described)).toStrictEqual({ value: node });
  });

  test.each([
    ...["", "cache", "cache:6379", "http://cache", "redis:cache", "redis://", "redis:///1", "redis://:6379"],
    ...["redis://cache:", "redis://cache:0", "redis://cache:65536", "redis://cache.", "redis://cache/1000"],
    ...["redis://cache/a", "redis://cache/-1", "redis://cache/1/", "redis://cache?db=1", "redis://cache#1"],
    ...["redis://u@cache", "redis://u:p@cache", "redis://:p@cache", "redis://a,b", "redis://::1"],
    ...["redis://[::g]", "redis://[::1", "redis://bücher", " redis://cache", "redis://cache\n", "unix:"],
    ...["unix:/", "unix:run/redis.sock", "unix:/run/redis.sock?", "unix:/run/redis.sock?db="],
    ...["unix:/run/redis.sock?db=-1", "unix:/run/redis.sock?db=1&password=x", "unix:/run/a\0b"],
    ...[`unix:/${"a".repeat(107)}`],
  ])("%j is refused", (text) => {
    expect(redisNodeForm.read(text)).toEqual({ fix: expect.stringMatching(/^write /) });
  });
});

describe("addresses of Sentinels and Cluster nodes", () => {
  test.each([
    ["a:26379", { host: "a", port: 26_379 }],
    ["Redis-0.redis:7000", { host: "redis-0.redis", port: 7_000 }],
    ["[0::1]:1", { host: "::1", port: 1 }],
  ])("%s", (text, place) => {
    expect(hostPortForm.read(text)).toStrictEqual({ value: place });
    expect(text).toMatch(hostPortForm.pattern);
  });

  test.each(["", "a", ":1", "a:", "a:0", "a:65536", "a:b", "::1:1", "[::1]", "redis://a:1", "u@a:1", "a:1/1", "a b:1"])(
    "%j is refused",
    (text) => {
      expect(hostPortForm.read(text)).toHaveProperty("fix");
    },
  );
});
