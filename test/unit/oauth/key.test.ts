import { describe, expect, it } from "vitest";
import { readTokenUrl } from "../../../src/config/values.ts";
import type { CredentialSet, TokenSettings } from "../../../src/model/environment.ts";
import { Secret } from "../../../src/model/secret.ts";
import { cacheKey, issuerOf } from "../../../src/oauth/token.ts";

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

  it("differs when anything differs that makes a token a different token", () => {
    const others = [
      cacheKey("https://login2", set()),
      cacheKey("https://login", set({ clientId: "abd" })),
      cacheKey("https://login", set({ audience: "https://api2" })),
      cacheKey("https://login", set({ clientSecret: new Secret("secret-2") })),
    ];
    expect(new Set([key, ...others]).size).toBe(5);
  });

  it("differs for inputs that concatenate alike (row 41)", () => {
    expect(cacheKey("https://login", set({ clientId: "ab", audience: "c" }))).not.toBe(
      cacheKey("https://login", set({ clientId: "a", audience: "bc" })),
    );
  });

  it("does not show the secret", () => {
    expect(key).toMatch(/^[0-9a-f]{64}$/);
  });
});

const addressOf = (text: string) => {
  const read = readTokenUrl(text);
  if (!("value" in read)) throw new Error(read.fix);
  return read.value;
};

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
  audience: "https://login/oauth/token",
  ...change,
});

describe("the cache key of a set with settings of its own (row 72)", () => {
  // Written down: replicas of an earlier version share their tokens under it.
  const key = "ae77b1f64b7a8aa17fe3f108820141466877c0c666c781f1218e7bf67e6def80";

  it("is the one of earlier versions for the service's own way", () => {
    expect(cacheKey("https://login", set())).toBe(key);
  });

  it.each([
    ["all settings as they are by default", asked()],
    ["the same endpoint written out", asked({ url: addressOf("https://login/oauth/token") })],
    ["what only the way to a token depends on", asked({ body: "json", lifetimeMs: 60_000 })],
  ])("is that one with %s", (_, same) => {
    const issuer = same.token?.url === undefined ? "https://login" : issuerOf(same.token.url);
    expect(cacheKey(issuer, same)).toBe(key);
  });

  it("differs with everything that makes a token another", () => {
    const url = addressOf("https://login/oauth2/token");
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
      // A server may bind tokens to the certificate that they were asked for with (RFC 8705 section 3).
      asked({ clientAuth: byKey("key-1"), certificate: "AA:BB" }),
      asked({ clientAuth: byKey("key-1"), certificate: "AA:BC" }),
      asked({ clientAuth: byKey("key-2") }),
      { ...asked({ url }), audience: undefined },
    ].map((each) => cacheKey("https://login", each));
    others.push(
      cacheKey(issuerOf(url), asked({ url })),
      // An authUrl with the path that the endpoint has.
      cacheKey("https://login/oauth2/token", set()),
      cacheKey(
        issuerOf(addressOf("https://login/oauth2/token/")),
        asked({ url: addressOf("https://login/oauth2/token/") }),
      ),
    );
    expect(new Set(others).size).toBe(others.length);
  });

  it("is the same for one key in another assertion, and for further fields in another order", () => {
    const key = cacheKey("https://login", asked({ clientAuth: byKey("key-1") }));
    expect(cacheKey("https://login", asked({ clientAuth: byKey("key-1", { keyId: "1", audience: "b" }) }))).toBe(key);
    const extra = cacheKey("https://login", asked({ extra: { a: "1", b: "2" } }));
    expect(cacheKey("https://login", asked({ extra: { b: "2", a: "1" } }))).toBe(extra);
  });
});
