/** Row 58: a token at rest is sealed with AES-256-GCM, bound to its name, and readable with two keys while they are rolled. */
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { open, seal } from "../../src/adapters/redis/token-store.ts";
import { Secret } from "../../src/model/secret.ts";

const oldKey = new Secret(Buffer.alloc(32, 1));
const newKey = new Secret(Buffer.alloc(32, 2));
const name = "countersign:{abc}:token";
const token = { secret: new Secret("canary-token"), lifetimeMs: 3_600_000 };

const textOf = (opened: ReturnType<typeof open>) => opened?.secret.reveal();

describe("a sealed token", () => {
  it("opens under its name and key, with its lifetime", () => {
    const opened = open([oldKey], name, seal([oldKey], name, token));
    expect(textOf(opened)).toBe("canary-token");
    expect(opened?.lifetimeMs).toBe(3_600_000);
  });

  it("shows nothing of the token, and never looks the same twice", () => {
    const one = seal([oldKey], name, token);
    const other = seal([oldKey], name, token);
    expect(one).not.toBe(other);
    for (const text of [one, Buffer.from(one, "base64url").toString("latin1")]) expect(text).not.toContain("canary");
  });

  it("does not open under another set's name", () => {
    expect(open([oldKey], "countersign:{abd}:token", seal([oldKey], name, token))).toBeUndefined();
  });

  it("is sealed with the first key and opened with any", () => {
    const byOld = seal([oldKey, newKey], name, token);
    expect(textOf(open([newKey, oldKey], name, byOld))).toBe("canary-token");
    expect(textOf(open([oldKey], name, byOld))).toBe("canary-token");
    expect(open([newKey], name, byOld)).toBeUndefined();
    expect(textOf(open([newKey], name, seal([newKey, oldKey], name, token)))).toBe("canary-token");
  });

  it("does not open with any bit turned, any byte missing or any byte more", () => {
    const bytes = Buffer.from(seal([oldKey], name, token), "base64url");
    for (let index = 0; index < bytes.length; index++) {
      for (let bit = 0; bit < 8; bit++) {
        const damaged = Buffer.from(bytes);
        damaged.writeUInt8(damaged.readUInt8(index) ^ (1 << bit), index);
        expect(open([oldKey, newKey], name, damaged.toString("base64url"))).toBeUndefined();
      }
      expect(open([oldKey], name, bytes.subarray(0, index).toString("base64url"))).toBeUndefined();
    }
    expect(open([oldKey], name, Buffer.concat([bytes, Buffer.of(0)]).toString("base64url"))).toBeUndefined();
  });

  it("takes the longest token that an authorization server may issue", () => {
    const longest = { secret: new Secret("x".repeat(16_384)), lifetimeMs: 604_800_000 };
    expect(textOf(open([oldKey], name, seal([oldKey], name, longest)))).toHaveLength(16_384);
  });

  it("is not looked at when it is longer than any token", () => {
    expect(open([oldKey], name, randomBytes(100_000).toString("base64url"))).toBeUndefined();
  });
});
