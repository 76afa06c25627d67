import { describe, expect, it, test } from "vitest";
import { bindForm, hostPortForm, isLocal, redisNodeForm, urlForm } from "../../../src/config/form/values.ts";
import { durationPattern, formatDuration, parseDurationMs } from "../../../src/model/clock.ts";
import { describeRedisNode } from "../../../src/model/redis-access.ts";

describe("durations", () => {
  test.each([
    ["0ms", 0],
    ["500ms", 500],
    ["20s", 20_000],
    ["2m", 120_000],
    ["1h", 3_600_000],
  ])("%s", (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
    expect(text).toMatch(durationPattern);
  });

  test.each(["", "20", "s", "20 s", " 20s", "20s ", "1.5s", "-1s", "+1s", "1e3s", "20S", "1d", "1234567890s", "٣s"])(
    "%j is refused",
    (text) => {
      expect(parseDurationMs(text)).toBeUndefined();
      expect(text).not.toMatch(durationPattern);
    },
  );
});

it.each([
  [0, "0s"],
  [1_500, "1500ms"],
  [20_000, "20s"],
  [90_000, "90s"],
  [900_000, "15m"],
  [86_400_000, "24h"],
])("%i ms are shown as %s, which reads back", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
  expect(parseDurationMs(text)).toBe(ms);
});

describe("binds", () => {
  test.each([
    ["127.0.0.1:7411", { kind: "tcp", host: "127.0.0.1", port: 7411 }, true],
    [":7412", { kind: "tcp", host: "", port: 7412 }, false],
    ["0.0.0.0:0", { kind: "tcp", host: "0.0.0.0", port: 0 }, false],
    ["[::1]:7411", { kind: "tcp", host: "::1", port: 7411 }, true],
    ["[0:0:0:0:0:0:0:1]:7411", { kind: "tcp", host: "::1", port: 7411 }, true],
    ["[::]:7411", { kind: "tcp", host: "::", port: 7411 }, false],
    ["localhost:65535", { kind: "tcp", host: "localhost", port: 65_535 }, true],
    ["LocalHost:1", { kind: "tcp", host: "localhost", port: 1 }, true],
    ["127.1.2.3:1", { kind: "tcp", host: "127.1.2.3", port: 1 }, true],
    ["127.example.com:1", { kind: "tcp", host: "127.example.com", port: 1 }, false],
    ["[::ffff:10.0.0.1]:1", { kind: "tcp", host: "::ffff:a00:1", port: 1 }, false],
    ["unix:/run/a.sock", { kind: "unix", path: "/run/a.sock" }, true],
    [`unix:/${"a".repeat(106)}`, { kind: "unix", path: `/${"a".repeat(106)}` }, true],
  ] as const)("%s, local: %s", (text, bind, local) => {
    expect(bindForm.read(text)).toEqual({ value: bind });
    expect(isLocal(bind)).toBe(local);
    expect(text).toMatch(bindForm.pattern);
  });

  test.each([
    "",
    "7411",
    "127.0.0.1",
    "127.0.0.1:",
    "127.0.0.1:65536",
    "127.0.0.1:-1",
    "::1:7411",
    "[::1]",
    "[::g]:1",
    "[:::]:1",
    "[127.0.0.1]:1",
    "http://127.0.0.1:1",
    "a b:1",
    "unix:run/a.sock",
    "unix:",
    "unix:/",
    "unix:/run/a\0b",
    `unix:/${"a".repeat(107)}`,
    `unix:/${"ü".repeat(54)}`,
  ])("%j is refused", (text) => {
    expect(bindForm.read(text)).toHaveProperty("fix");
  });
});

describe("URLs", () => {
  test.each([
    ["https://api.example", "https://api.example", "api.example", 443, ""],
    ["https://api.example/", "https://api.example", "api.example", 443, ""],
    ["https://API.Example:443/json-api/", "https://api.example", "api.example", 443, "/json-api"],
    ["https://api.example:8443/a/b.c~d_e-f", "https://api.example:8443", "api.example", 8443, "/a/b.c~d_e-f"],
    ["http://127.0.0.1:7420", "http://127.0.0.1:7420", "127.0.0.1", 7420, ""],
    ["http://[::1]:7420/x", "http://[::1]:7420", "[::1]", 7420, "/x"],
    ["https://xn--bcher-kva.example:65535", "https://xn--bcher-kva.example:65535", "xn--bcher-kva.example", 65_535, ""],
    ["https://api.example:0443", "https://api.example", "api.example", 443, ""],
    ["http://api.example:80", "http://api.example", "api.example", 80, ""],
    ["http://api.example:443", "http://api.example:443", "api.example", 443, ""],
    ["https://api.example/...", "https://api.example", "api.example", 443, "/..."],
  ])("%s", (text, origin, host, port, path) => {
    const scheme = text.startsWith("https") ? "https" : "http";
    expect(urlForm.read(text)).toEqual({ value: { origin, scheme, host, port, path } });
    expect(text).toMatch(urlForm.pattern);
  });

  test.each([
    "",
    "api.example",
    "//api.example",
    "ftp://api.example",
    "https://",
    "https:///path",
    "https:api.example",
    "https://user@api.example",
    "https://user:secret@api.example",
    "https://api.example?",
    "https://api.example/?a=b",
    "https://api.example/#a",
    "https://api.example#",
    "https://api.example/a/../b",
    "https://api.example/./a",
    "https://api.example/..",
    "https://api.example/%2e%2e",
    "https://api.example//a",
    "https://api.example/a//",
    "https://api.example/a b",
    "https://api.example/a;b",
    "https://api.example\\a",
    "https://api.example:99999",
    "https://api.example:",
    "https://api.example.",
    "https://api.example./a",
    "https://api.example.:443/a",
    "https://api.example:0",
    "https://api.example:65536",
    "https://api.example:443:443",
    "https://bücher.example",
    "https://%61pi.example",
    "https://api\u00adx.example",
    "https://*.example",
    "https://[::g]",
    "https://::1",
    " https://api.example",
    "https://api.example\n",
  ])("%j is refused", (text) => {
    expect(urlForm.read(text)).toHaveProperty("fix");
  });
});

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
    "",
    "cache",
    "cache:6379",
    "http://cache",
    "redis:cache",
    "redis://",
    "redis:///1",
    "redis://:6379",
    "redis://cache:",
    "redis://cache:0",
    "redis://cache:65536",
    "redis://cache.",
    "redis://cache/1000",
    "redis://cache/a",
    "redis://cache/-1",
    "redis://cache/1/",
    "redis://cache?db=1",
    "redis://cache#1",
    "redis://u@cache",
    "redis://u:p@cache",
    "redis://:p@cache",
    "redis://a,b",
    "redis://::1",
    "redis://[::g]",
    "redis://[::1",
    "redis://bücher",
    " redis://cache",
    "redis://cache\n",
    "unix:",
    "unix:/",
    "unix:run/redis.sock",
    "unix:/run/redis.sock?",
    "unix:/run/redis.sock?db=",
    "unix:/run/redis.sock?db=-1",
    "unix:/run/redis.sock?db=1&password=x",
    "unix:/run/a\0b",
    `unix:/${"a".repeat(107)}`,
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
