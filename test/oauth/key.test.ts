import { describe, expect, it } from "vitest";
import type { CredentialSet } from "../../src/model/environment.ts";
import { Secret } from "../../src/model/secret.ts";
import { cacheKey } from "../../src/oauth/token.ts";

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
