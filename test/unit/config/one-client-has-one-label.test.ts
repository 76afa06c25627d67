/** A client at several sites has one label in metrics, logs and `/status`, and readiness finds its token by this label. */
import { describe, expect, test } from "vitest";
import { createReadiness } from "../../../src/adapters/stats/readiness.ts";
import { ConfigFolder, edited } from "../../../testkit/config-folder.ts";
import { openTokensOf } from "../../../testkit/site-tokens.ts";
import { blue } from "./refusal.ts";

const [first, second, child] = ["S1000000001", "S1000000002", "S1000000009"];

const blueSet = { clientId: "blue-id", clientSecret: { file: "DIR/blue/client-secret" } };
/** The client of the first site, with changes. */
const azure = (change: object = {}) =>
  JSON.stringify({ name: "azure", ...blueSet, audience: "https://api.sandbox.example", ...change });

describe("a client at two sites", () => {
  test("has the first site's label, also at a child site, whatever the second site calls the client", async () => {
    const green = azure({ name: "green", clientId: "green-id" });
    const { labels } = await load(azure(), green);
    const ofSecond = [`${first}/blue`, `${second}/green`];
    expect(labels).toEqual([[`${first}/blue`], ofSecond, ofSecond]);
  });

  test.each([
    ["another client id", { clientId: "other-id" }],
    ["another secret", { clientSecret: { file: "DIR/green" } }],
    ["another audience", { audience: "https://other.example" }],
    ["another scope", { token: { scope: "orders" } }],
    ["another way to prove itself", { token: { clientAuth: "basic" } }],
  ])("is not the same client with %s: the second site's set then has its own label", async (_, change) => {
    const { labels } = await load(azure(change));
    expect(labels).toEqual([[`${first}/blue`], [`${second}/azure`], [`${second}/azure`]]);
  });

  test("is the same client with another body, since the token is the same", async () => {
    const { labels } = await load(azure({ token: { body: "json", lifetime: "1h" } }));
    expect(labels[1]).toEqual([`${first}/blue`]);
  });

  test("makes the default site ready with the token that both sites share", async () => {
    const { config, environment } = await load(azure());
    const { clock, login, tokens, events } = await openTokensOf(config);
    const readiness = createReadiness(clock);
    readiness.follow([environment]);
    readiness.report({ kind: "started", version: "", configHash: "", routes: [], admin: "", status: "" });
    expect(readiness.view()).toMatchObject({ isReady: false, awaitsToken: true });
    tokens.warm();
    await clock.advance(10);
    for (const event of events) readiness.report(event);
    expect(readiness.view()).toMatchObject({ isReady: true });
    expect(login.requests).toBe(1);
  });
});

/** The second site has these sets; it is the default site, so readiness waits for a label that another site gave. */
async function load(...sets: readonly string[]) {
  const site = `      ${second}: { credentials: [ ${sets.join(", ")} ], children: { ${child}: {} } }\n`;
  const yaml = edited([`defaultSite: ${first}`, `defaultSite: ${second}`], [blue, `${blue}${site}`]);
  const { config } = await new ConfigFolder().loadSound(yaml);
  const environment = config.environments.get("sandbox") ?? expect.unreachable();
  const labelsOf = (name: string) => environment.sites.get(name)?.credentials?.sets.map(({ label }) => label);
  return { config, environment, labels: [first, second, child].map(labelsOf) };
}
