/** A stored token is sealed with AES-256-GCM, bound to its name, and readable with two keys while keys are rotated. */
import { describe, expect, it } from "vitest";
import { openToken, sealToken } from "../../src/adapters/redis/token-store.ts";
import { Secret } from "../../src/model/secret.ts";
import { issued } from "../../testkit/issued-token.ts";

const oldKey = new Secret(Buffer.alloc(32, 1));
const newKey = new Secret(Buffer.alloc(32, 2));
const name = "countersign:{abc}:token";
const token = issued("canary-token", 3_600_000);

const textOf = (opened: ReturnType<typeof openToken>) => opened?.secret.reveal();

describe("a sealed token", () => {
  it("is opened with its name and key, and keeps its lifetime", () => {
    const opened = openToken([oldKey], name, sealToken([oldKey], name, token));
    expect(textOf(opened)).toBe("canary-token");
    expect(opened?.lifetimeMs).toBe(3_600_000);
  });

  it("shows nothing of the token, and never looks the same twice", () => {
    const one = sealToken([oldKey], name, token);
    const other = sealToken([oldKey], name, token);
    expect(one).not.toBe(other);
    for (const text of [one, Buffer.from(one, "base64url").toString("latin1")]) expect(text).not.toContain("canary");
  });

  it("does not open under another set's name", () => {
    expect(openToken([oldKey], "countersign:{abd}:token", sealToken([oldKey], name, token))).toBeUndefined();
  });

  it("is sealed with the first key and opened with any", () => {
    const byOld = sealToken([oldKey, newKey], name, token);
    expect(textOf(openToken([newKey, oldKey], name, byOld))).toBe("canary-token");
    expect(textOf(openToken([oldKey], name, byOld))).toBe("canary-token");
    expect(openToken([newKey], name, byOld)).toBeUndefined();
    expect(textOf(openToken([newKey], name, sealToken([newKey, oldKey], name, token)))).toBe("canary-token");
  });

  it("does not open with any bit changed, any byte missing or any byte more", () => {
    const bytes = Buffer.from(sealToken([oldKey], name, token), "base64url");
    for (let index = 0; index < bytes.length; index++) {
      for (let bit = 0; bit < 8; bit++) {
        const damaged = Buffer.from(bytes);
        damaged.writeUInt8(damaged.readUInt8(index) ^ (1 << bit), index);
        expect(openToken([oldKey, newKey], name, damaged.toString("base64url"))).toBeUndefined();
      }
      expect(openToken([oldKey], name, bytes.subarray(0, index).toString("base64url"))).toBeUndefined();
    }
    expect(openToken([oldKey], name, Buffer.concat([bytes, Buffer.of(0)]).toString("base64url"))).toBeUndefined();
  });

  it("may be the longest token that an authorization server may issue", () => {
    const longest = issued("x".repeat(16_384), 604_800_000);
    expect(textOf(openToken([oldKey], name, sealToken([oldKey], name, longest)))).toHaveLength(16_384);
  });
});
