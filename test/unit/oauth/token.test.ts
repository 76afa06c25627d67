import { describe, expect, it } from "vitest";
import type { CredentialSet, TokenSettings } from "../../../src/model/environment.ts";
import { Secret } from "../../../src/model/secret.ts";
import { cacheKey, drawThresholds, freshness, type Token } from "../../../src/oauth/token.ts";
import { readToken } from "../../../src/oauth/token-endpoint.ts";

/** A tenth of its lifetime is less than the leeway; token-state.test.ts has a longer one. */
const token: Token = {
  secret: new Secret("t"),
  credential: "S1/blue",
  id: "1",
  issuedAtMs: 5_000,
  issuedWithinMs: 0,
  lifetimeMs: 100_000,
  isRepeated: false,
};

describe("the freshness of a token", () => {
  it.each([
    { ageMs: 84_000 - 1, expected: "fresh" },
    { ageMs: 84_000, expected: "due" },
    { ageMs: 90_000 - 1, expected: "due" },
    { ageMs: 90_000, expected: "expired" },
  ])("at the age of $ageMs ms is $expected", ({ ageMs, expected }) => {
    const thresholds = { dueShare: 0.84, leewayMs: 90_000 };
    expect(freshness(token, thresholds, token.issuedAtMs + ageMs)).toBe(expected);
  });

  it("has random thresholds of 80 to 88 % and 60 to 120 s", () => {
    expect(drawThresholds(() => 0)).toEqual({ dueShare: 0.8, leewayMs: 60_000 });
    const { dueShare, leewayMs } = drawThresholds(() => 0.999_999);
    expect(dueShare).toBeGreaterThan(0.879);
    expect(dueShare).toBeLessThan(0.88);
    expect(leewayMs).toBeGreaterThan(119_000);
    expect(leewayMs).toBeLessThan(120_000);
  });
});

const set = (change: Partial<CredentialSet> = {}): CredentialSet => ({
  label: "S1/blue",
  name: "blue",
  clientId: "abc",
  clientSecret: new Secret("secret-1"),
  audience: "https://api",
  ...change,
});

describe("the cache key", () => {
  const key = cacheKey("https://login", set());

  it("is the same for the same set", () => {
    expect(cacheKey("https://login", set({ name: "green", label: "S2/green" }))).toBe(key);
  });

  it("differs with each setting on which the token depends", () => {
    const others = [
      cacheKey("https://login2", set()),
      cacheKey("https://login", set({ clientId: "abd" })),
      cacheKey("https://login", set({ audience: "https://api2" })),
      cacheKey("https://login", set({ clientSecret: new Secret("secret-2") })),
    ];
    expect(new Set([key, ...others]).size).toBe(5);
  });

  it("differs for inputs whose concatenation is equal", () => {
    expect(cacheKey("https://login", set({ clientId: "ab", audience: "c" }))).not.toBe(
      cacheKey("https://login", set({ clientId: "a", audience: "bc" })),
    );
  });

  it("does not show the secret", () => {
    expect(key).toMatch(/^[0-9a-f]{64}$/);
  });
});

const asked = (change: Partial<TokenSettings> = {}): CredentialSet =>
  set({
    token: {
      url: undefined,
      clientAuth: { method: "post" },
      body: "form",
      scope: undefined,
      resource: undefined,
      extra: {},
      lifetimeMs: undefined,
      ...change,
    },
  });

const byKey = (privateKey: string, change: object = {}) => ({
  method: "private_key_jwt" as const,
  privateKey: new Secret(privateKey),
  algorithm: "ES256",
  keyId: undefined,
  thumbprints: undefined,
  type: "JWT",
  audience: "https://login/oauth/token",
  ...change,
});

const byFile = (file: string) => asked({ clientAuth: { method: "assertion", file, type: "jwt-bearer" } });

it("the cache key depends on the path of the assertion file, not on its content", () => {
  const [one, other] = [byFile("/run/one"), byFile("/run/other")].map((each) => cacheKey("https://login", each));
  expect(one).toBe(cacheKey("https://login", byFile("/run/one")));
  expect(one).not.toBe(other);
});

describe("the cache key of a set with token settings", () => {
  it("is that of a set without settings, if they only repeat defaults, or do not change the token", () => {
    for (const same of [asked(), asked({ body: "json", lifetimeMs: 60_000 })]) {
      expect(cacheKey("https://login", same)).toBe(cacheKey("https://login", set()));
    }
  });

  it("differs with each setting on which the token depends", () => {
    const others = [
      set(),
      asked({ scope: "a" }),
      asked({ scope: "a b" }),
      asked({ resource: "a" }),
      asked({ extra: { a: "b" } }),
      asked({ extra: { ab: "" } }),
      asked({ extra: { a: "b", c: "d" } }),
      asked({ clientAuth: { method: "basic" } }),
      asked({ clientAuth: { method: "tls" }, certificate: "AA:BB" }),
      asked({ clientAuth: { method: "tls" }, certificate: "AA:BC" }),
      asked({ clientAuth: byKey("key-1") }),
      // A server may bind tokens to the client certificate of their token request (RFC 8705 section 3).
      asked({ clientAuth: byKey("key-1"), certificate: "AA:BB" }),
      asked({ clientAuth: byKey("key-1"), certificate: "AA:BC" }),
      asked({ clientAuth: byKey("key-2") }),
      { ...asked(), audience: undefined },
    ].map((each) => cacheKey("https://login", each));
    others.push(cacheKey("https://login/", set()));
    expect(new Set(others).size).toBe(others.length);
  });

  it("is the same for one key with other assertion claims, and for extra fields in another order", () => {
    const key = cacheKey("https://login", asked({ clientAuth: byKey("key-1") }));
    expect(cacheKey("https://login", asked({ clientAuth: byKey("key-1", { keyId: "1", audience: "b" }) }))).toBe(key);
    const extra = cacheKey("https://login", asked({ extra: { a: "1", b: "2" } }));
    expect(cacheKey("https://login", asked({ extra: { b: "2", a: "1" } }))).toBe(extra);
  });
});

it.each([64_001, 64_002, 90_007])("a configured lifetime of %i ms stays a whole number, as Redis demands", (ms) => {
  expect(readToken('{"access_token":"t","token_type":"Bearer"}', ms)).toMatchObject({ lifetimeMs: ms });
});
