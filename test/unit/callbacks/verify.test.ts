/** Which callbacks are genuine (spec 5.2, 5.3, 6). */
import { describe, expect, it } from "vitest";
import { checkAge, NotGenuine, verifyCallback } from "../../../src/callbacks/verify.ts";
import type { Environment, SigningKey, Site } from "../../../src/model/environment.ts";
import type { ForgeryReason } from "../../../src/model/events.ts";
import { Secret } from "../../../src/model/secret.ts";
import { environmentOf, siteOf } from "../../../testkit/environment.ts";
import { callbackOf, type Given, key, secret, site } from "../../promises/callbacks/sender.ts";

const nowMs = 1_767_225_600_000;
const now = String(nowMs / 1_000);
const dayMs = 86_400_000;
const newSecret = "canary-api-secret-key-two";
const newKey = "K2000000002";

const sole = withKeys([keyOf(key, secret)]);
const pairs = [keyOf(newKey, newSecret), keyOf(key, secret)] as const;
const rotatingUntil = (untilMs: number) => withKeys(pairs, { alsoVerifyWith: [{ key: pairs[1], untilMs }] });

const exempt = new Set(["format", "signature", "call"]);

const genuine = (given: Given = {}, by = secret) => callbackOf({ timestamp: now, ...given }, by);

describe("a genuine callback", () => {
  it("may be signed with a further key of the site for verification, until the end of that key's last day", () => {
    expect(check(genuine({}, newSecret), rotatingUntil(nowMs + 1)).key.identifier).toBe(newKey);
    expect(check(genuine({}, secret), rotatingUntil(nowMs + 1)).key.identifier).toBe(key);
    expect(reasonOf(genuine({}, secret), rotatingUntil(nowMs))).toBe("signature_wrong");
    expect(reasonOf(genuine({ site_identifier: newKey }, secret), rotatingUntil(nowMs + 1))).toBe("signature_wrong");
  });

  it.each([
    ["as old as callbacks are remembered", -7 * 86_400, undefined],
    ["older", -7 * 86_400 - 1, "callback_too_old"],
    ["10 minutes ahead", 600, undefined],
    ["further ahead", 601, "callback_too_early"],
    ["of the year 33658", 999_999_999_999 - nowMs / 1_000, "callback_too_early"],
    ["of 1970", -nowMs / 1_000, "callback_too_old"],
  ])("has a limited age: %s", (_, seconds, code) => {
    const found = check(genuine({ timestamp: String(Number(now) + seconds) }));
    const check7Days = () => checkAge(found, 7 * dayMs, nowMs);
    if (code === undefined) expect(check7Days).not.toThrow();
    else expect(check7Days).toThrow(expect.objectContaining({ code, outcome: "not_sent" }));
  });

  it("from the future may come again once its time has come", () => {
    const found = check(genuine({ timestamp: String(Number(now) + 900) }));
    expect(() => checkAge(found, 7 * dayMs, nowMs)).toThrow(
      expect.objectContaining({ status: 503, retryAfterMs: 300_000 }),
    );
    expect(() => checkAge(found, 7 * dayMs, nowMs + 300_000)).not.toThrow();
  });
});

describe("a callback is refused", () => {
  it.each(["version", "site_identifier", "timestamp", "signature"])("without %s", (name) => {
    const { [name]: _, ...rest } = genuine();
    expect(reasonOf(rest)).toBe("parameter_missing");
    expect(reasonOf({ ...rest, [name]: "" })).toBe("parameter_missing");
  });

  it.each<[string, ForgeryReason, Given]>([
    ["of a key that is not configured", "site_unknown", genuine({ site_identifier: "K1000000666" })],
    ["with a signature in capitals", "signature_wrong", upperCase(genuine())],
    ["with a signature that is cut", "signature_wrong", { ...genuine(), signature: "0".repeat(63) }],
    ["with the signature of another text", "signature_wrong", { ...genuine(), signature: "é".repeat(32) }],
    ["whose timestamp is no number", "timestamp_invalid", genuine({ timestamp: "now" })],
    ["whose timestamp is negative", "timestamp_invalid", genuine({ timestamp: `-${now}` })],
  ])("%s: %s", (_, reason, parameters) => {
    expect(reasonOf(parameters)).toBe(reason);
  });

  it("for its signature before its timestamp, so that no forger changes the count of stale callbacks", () => {
    expect(reasonOf({ ...genuine({ timestamp: "now" }), signature: "0".repeat(64) })).toBe("signature_wrong");
  });
});

function upperCase(parameters: Given): Given {
  return { ...parameters, signature: String(parameters["signature"]).toUpperCase() };
}

function keyOf(identifier: string, text: string, version = "3.0"): SigningKey {
  return { identifier, version, secret: new Secret(text) };
}

/** An environment with one site, whose first key is the default. */
function withKeys(keys: readonly SigningKey[], more: Partial<Site> = {}): Environment {
  return environmentOf([siteOf(site, { keys, ...more }), siteOf("S1000000009")]);
}

function check(parameters: Given, environment = sole) {
  return verifyCallback(new Map(Object.entries(parameters)), { environment, exempt }, nowMs);
}

function reasonOf(parameters: Given, environment = sole): ForgeryReason {
  try {
    check(parameters, environment);
  } catch (error) {
    if (error instanceof NotGenuine) return error.reason;
  }
  throw new Error("it is genuine");
}
