/** Row 81: metrics, the status page and `/status` say what each caller may do and did; its proof is nowhere. */
import { expect, it } from "vitest";
import { Secret } from "../../../src/model/secret.ts";
import { call } from "../../../testkit/call.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { hmacSite, oauthSite, stageProxy } from "../../../testkit/stage.ts";
import { older, stageWithCallers, stageWithTokens, token } from "../proxy/stage-with-callers.ts";

const listener = "127.0.0.1:0";
const everything = { certificates: [], sites: "any", operations: "any", requestsPerSecond: undefined } as const;

async function stageWithTwo() {
  const shop = {
    ...everything,
    name: "shop",
    tokens: [new Secret(token)],
    sites: new Set([hmacSite]),
    requestsPerSecond: 3,
  };
  const reports = { ...everything, name: "reports", tokens: [new Secret(older)] };
  const stage = await stageWithCallers({ kind: "named", callers: [shop, reports], tls: undefined });
  const send = (given: string, site: string) =>
    ask(stage.port, { more: [`Proxy-Authorization: Bearer ${given}`, `Countersign-Site: ${site}`] });
  return { stage, send };
}

it("counts what each did, from 0 on, and shows it without its token", async () => {
  const { stage, send } = await stageWithTwo();
  const refusals = async (caller: string, code: string) =>
    (await scrape(stage.adminUrl)).value("countersign_caller_refusals_total", { listener, caller, code });
  expect(await refusals("reports", "caller_rate_limited")).toBe(0);
  expect(await refusals("shop", "caller_not_allowed")).toBe(0);
  const answers = [await send(token, hmacSite), await send(token, oauthSite), await send(token, oauthSite)];
  for (let n = 0; n < 5; n += 1) answers.push(await send(token, hmacSite));
  const limited = answers.filter(({ status }) => status === 429).length;
  expect(limited).toBeGreaterThan(0);
  expect(await refusals("shop", "caller_not_allowed")).toBe(2);
  expect(await refusals("shop", "caller_rate_limited")).toBe(limited);
  const counted = await scrape(stage.adminUrl);
  expect(counted.sum("countersign_caller_requests_total", { listener, caller: "shop" })).toBe(8);
  expect(counted.sum("countersign_caller_requests_total", { caller: "reports" })).toBe(0);

  const { json } = await call(stage.statusUrl, "", { method: "GET", path: "/status" });
  const [shop, reports] = json.callers;
  expect(shop).toMatchObject({
    name: "shop",
    environment: "sandbox",
    listener,
    by: "token",
    sites: [hmacSite],
    requestsPerSecond: 3,
  });
  expect(shop.tally.answeredBy).toEqual({ service: 6 - limited, countersign: 2 + limited });
  expect(shop.tally.failures.caller_rate_limited.count).toBe(limited);
  expect(reports).toMatchObject({
    sites: ["*"],
    operations: ["*"],
    tally: { answeredBy: { service: 0, countersign: 0 } },
  });
  expect(reports.tally.lastAt).toBeUndefined();
  const page = (await call(stage.statusUrl, "", { method: "GET", path: "/" })).text;
  expect(page).toMatch(/<h2 id="callers">Callers<\/h2>/);
  expect(page).toContain(`${hmacSite}, every operation, 3 a second`);
  expect(JSON.stringify(json) + page + counted.text).not.toContain("canary");
});

it("forgets the counts of callers that are not configured any more", async () => {
  const { stage, send } = await stageWithTwo();
  expect((await send(older, hmacSite)).status).toBe(200);
  const callersOf = async () => (await call(stage.statusUrl, "", { method: "GET", path: "/status" })).json.callers;
  const usual = await callersOf();
  expect(usual[1].tally.answeredBy.service).toBe(1);
  const listeners = stage.config.listeners.map((each) => ({ ...each, callers: { kind: "anyone" } as const }));
  await stage.proxy.apply({ ...stage.config, hash: "1", listeners }, "sighup");
  expect(await callersOf()).toBeUndefined();
  await stage.proxy.apply({ ...stage.config, hash: "2" }, "sighup");
  expect((await callersOf())[1].tally.answeredBy.service).toBe(0);
});

it("shows the names in a list of tokens too, and nothing where callers have none", async () => {
  const named = await stageWithTokens();
  const shown = (await call(named.statusUrl, "", { method: "GET", path: "/status" })).json;
  expect(shown.callers.map(({ name }: { readonly name: string }) => name)).toEqual(["orders", "orders-before"]);
  const plain = await stageProxy();
  expect((await call(plain.statusUrl, "", { method: "GET", path: "/status" })).json).not.toHaveProperty("callers");
  expect((await call(plain.statusUrl, "", { method: "GET", path: "/" })).text).not.toContain('id="callers"');
});
