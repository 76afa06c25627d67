import { describe, expect, test } from "vitest";
import type { Site } from "../../../src/model/environment.ts";
import { ConfigFolder, edited } from "../../../testkit/config-folder.ts";
import { blue, key } from "./refusal.ts";

const rules = "identifyBy: key, characters: warn, exempt: [call], decimals: [fee]";

async function sitesOf(yaml: string): Promise<ReadonlyMap<string, Site> | undefined> {
  const loaded = await new ConfigFolder().loadSound(yaml);
  return loaded.config.environments.get("sandbox")?.sites;
}

describe("a child site", () => {
  test("has its parent's version and rules", async () => {
    const sites = await sitesOf(
      edited([
        `        keys:\n${key}`,
        `        version: "2.0"
        identifyBy: key
        characters: warn
        exempt: [call]
        decimals: [fee]
        keys:
${key}        children:
          S1000000009: { keys: [ { identifier: K9, secret: { file: DIR/k2 } } ] }
`,
      ]),
    );
    const child = sites?.get("S1000000009");
    expect(child).toMatchObject({ version: "2.0", identifyBy: "key", characters: "warn", auth: ["hmac"] });
    expect(child?.exempt).toEqual(new Set(["call", "signature"]));
    expect(child?.decimals).toEqual(new Set(["fee"]));
    expect(child?.defaultKey).toMatchObject({ identifier: "K9", version: "2.0" });
  });

  test("has its own where it says so", async () => {
    const child = `{ version: "3.1", ${rules}, auth: [hmac, oauth], keys: [ { identifier: K9, secret: { file: DIR/k2 } } ] }`;
    const sites = await sitesOf(edited([blue, `${blue}        children:\n          S1000000009: ${child}\n`]));
    expect(sites?.get("S1000000001")).toMatchObject({ version: "3.0", identifyBy: "site", characters: "reject" });
    expect(sites?.get("S1000000009")).toMatchObject({
      version: "3.1",
      identifyBy: "key",
      characters: "warn",
      auth: ["hmac", "oauth"],
      exempt: new Set(["call", "signature"]),
      decimals: new Set(["fee"]),
      credentials: { owner: "S1000000001" },
    });
  });

  test("does not have its parent's keys (spec 5.3)", async () => {
    const yaml = edited([key, `${key}        children:\n          S1000000009: {}\n`]);
    const problems = await new ConfigFolder().problemsOf(yaml);
    expect(problems.map(({ path, message }) => [path, message])).toEqual([
      ["environments.sandbox.sites.S1000000003.children.S1000000009", "the site has neither credentials nor keys"],
    ]);
  });
});

test("a parent with two methods does not hand its auth down", async () => {
  const sites = await sitesOf(
    edited([
      blue,
      `${blue}        auth: [hmac, oauth]
        keys:
          - { identifier: K1, secret: { file: DIR/k2 } }
        children:
          S1000000009: {}
`,
    ]),
  );
  expect(sites?.get("S1000000001")?.auth).toEqual(["hmac", "oauth"]);
  expect(sites?.get("S1000000009")?.auth).toEqual(["oauth"]);
});
