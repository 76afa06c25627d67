/** Row 73: what makes a callback genuine (spec 5.2, 5.3, 6). */
import { describe, expect, it } from "vitest";
import { NotGenuine, verifyCallback } from "../../../src/callbacks/verify.ts";
import type { ForgeryReason } from "../../../src/model/callback-events.ts";
import type { Environment, SigningKey, Site } from "../../../src/model/environment.ts";
import { Secret } from "../../../src/model/secret.ts";
import { callbackOf, type Given, key, secret, site } from "../../promises/callbacks/sender.ts";

const nowMs = 1_767_225_600_000;
const now = String(nowMs / 1_000);
const windowMs = 300_000;
const newSecret = "canary-api-secret-key-two";
const newKey = "K2000000002";

const keyOf = (identifier: string, text: string, version = "3.0"): SigningKey => {
  return { identifier, version, secret: new Secret(text) };
};

/** An environment with one site, whose first key is the default. */
function environmentOf(keys: readonly SigningKey[]): Environment {
  const own = { identifier: site, keys, defaultKey: keys[0] } as unknown as Site;
  const other = { identifier: "S1000000009", keys: [], defaultKey: undefined } as unknown as Site;
  return {
    sites: new Map([own, other].map((each) => [each.identifier, each])),
    siteOfKey: new Map(keys.map(({ identifier }) => [identifier, own])),
  } as unknown as Environment;
}

const sole = environmentOf([keyOf(key, secret)]);
const rotating = environmentOf([keyOf(newKey, newSecret), keyOf(key, secret)]);

function check(parameters: Given, environment = sole, exempt = ["format", "call"]) {
  const rules = { environment, exempt: new Set([...exempt, "signature"]), windowMs };
  return verifyCallback(new Map(Object.entries(parameters)), rules, nowMs);
}

function reasonOf(parameters: Given, environment = sole): ForgeryReason {
  try {
    check(parameters, environment);
  } catch (error) {
    if (error instanceof NotGenuine) return error.reason;
  }
  throw new Error("it is genuine");
}

const genuine = (given: Given = {}, by = secret) => callbackOf({ timestamp: now, ...given }, by);

describe("a genuine callback", () => {
  it("tells its site, its key and how long it is one", () => {
    const parameters = genuine();
    const found = check(parameters);
    expect(found.site.identifier).toBe(site);
    expect(found.key.identifier).toBe(key);
    expect(found.signature).toBe(parameters["signature"]);
    expect(found.expiresAtMs).toBe(nowMs + windowMs);
  });

  it("may name its key in place of its site", () => {
    expect(check(genuine({ site_identifier: key })).key.identifier).toBe(key);
  });

  it("may have any other parameters, also with spaces and letters of any script", () => {
    expect(check(genuine({ note: "paid in full", name: "Zoë €", empty: "" })).site.identifier).toBe(site);
  });

  it("is signed without the exempt names, and those may be configured", () => {
    const exempt = ["format", "call", "action", "controller", "fp", "print_buttons", "route_info"];
    const parameters = { ...callbackOf({ timestamp: now }, secret, [...exempt, "signature"]), action: "a", fp: "1" };
    expect(check(parameters, sole, exempt).key.identifier).toBe(key);
    expect(reasonOf(parameters)).toBe("signature_wrong");
  });

  it.each([
    ["the default key", newSecret, newKey],
    ["the key that it replaces", secret, key],
  ])("may be signed with %s during a rotation", (_, by, identifier) => {
    expect(check(genuine({}, by), rotating).key.identifier).toBe(identifier);
  });

  it("is verified with the key that it names first", () => {
    const same = environmentOf([keyOf(newKey, secret), keyOf(key, secret)]);
    expect(check(genuine(), same).key.identifier).toBe(newKey);
    expect(check(genuine({ site_identifier: key }), same).key.identifier).toBe(key);
  });

  it.each([-300, -299, 0, 299, 300])("may be %i s old", (ageSeconds) => {
    expect(check(genuine({ timestamp: String(Number(now) - ageSeconds) })).site.identifier).toBe(site);
  });
});

describe("a callback is refused", () => {
  it.each(["version", "site_identifier", "timestamp", "signature"])("without %s", (name) => {
    const { [name]: _, ...rest } = genuine();
    expect(reasonOf(rest)).toBe("parameter_missing");
    expect(reasonOf({ ...rest, [name]: "" })).toBe("parameter_missing");
  });

  it.each<[string, ForgeryReason, Given]>([
    ["of a site that is not configured", "site_unknown", genuine({ site_identifier: "S1000000666" })],
    ["of a key that is not configured", "site_unknown", genuine({ site_identifier: "K1000000666" })],
    ["of a site without keys", "key_missing", genuine({ site_identifier: "S1000000009" })],
    ["of a version that the site has no key of", "key_missing", genuine({ version: "2.0" })],
    ["signed with another key", "signature_wrong", genuine({}, "another-secret-of-someone")],
    ["with a changed value", "signature_wrong", { ...genuine(), event: "order_lost" }],
    ["with a further parameter", "signature_wrong", { ...genuine(), more: "1" }],
    ["with a signature in capitals", "signature_wrong", upperCase(genuine())],
    ["with a signature that is cut", "signature_wrong", { ...genuine(), signature: "0".repeat(63) }],
    ["with a signature of other text", "signature_wrong", { ...genuine(), signature: "é".repeat(32) }],
    ["that is too old", "timestamp_outside_window", genuine({ timestamp: String(Number(now) - 301) })],
    ["that is too far ahead", "timestamp_outside_window", genuine({ timestamp: String(Number(now) + 301) })],
    ["whose timestamp is in milliseconds", "timestamp_outside_window", genuine({ timestamp: `${now}000` })],
    ["whose timestamp is no number", "timestamp_outside_window", genuine({ timestamp: "now" })],
    ["whose timestamp is negative", "timestamp_outside_window", genuine({ timestamp: `-${now}` })],
  ])("%s: %s", (_, reason, parameters) => {
    expect(reasonOf(parameters)).toBe(reason);
  });

  it("by its signature before its time, so that no forger moves the count of late ones", () => {
    expect(reasonOf({ ...genuine({ timestamp: "1" }), signature: "0".repeat(64) })).toBe("signature_wrong");
  });

  it("with one text for every reason, which tells a forger nothing", () => {
    const texts = [genuine({ version: "2.0" }), genuine({}, "wrong"), genuine({ site_identifier: "S9" })].map(
      (each) => {
        try {
          check(each);
        } catch (error) {
          return (error as Error).message;
        }
        return "";
      },
    );
    expect(new Set(texts).size).toBe(1);
  });
});

it("the published example of the scheme is genuine at its time (spec 5.2)", () => {
  const published = {
    version: "3.0",
    site_identifier: "MySiteID",
    timestamp: "1582149833",
    hello: "world",
    foo: "bar",
    format: "json",
    signature: "7986b4e59c15cd22fd496113c916f9739f619778812bf9ab8943af80749aadcc",
  };
  const keys = [keyOf(key, "abc123")];
  const own = { identifier: "MySiteID", keys, defaultKey: keys[0] } as unknown as Site;
  const environment = { sites: new Map([["MySiteID", own]]), siteOfKey: new Map() } as unknown as Environment;
  const rules = { environment, exempt: new Set(["format", "signature", "call"]), windowMs };
  expect(verifyCallback(new Map(Object.entries(published)), rules, 1_582_149_833_000).key).toBe(keys[0]);
});

function upperCase(parameters: Given): Given {
  return { ...parameters, signature: String(parameters["signature"]).toUpperCase() };
}
