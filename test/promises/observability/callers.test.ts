/** Metrics, the status page and `/status` say what each caller may do and did; no caller's token is in them. */
import { expect, it } from "vitest";
import { Secret } from "../../../src/model/secret.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { hmacSite, oauthSite } from "../../../testkit/stage.ts";
import { older, stageWithCallers, token } from "../proxy/callers.ts";

const listener = "127.0.0.1:0";
const everything = { certificates: [], sites: "any", operations: "any", requestsPerSecond: undefined } as const;

it("counts each caller's requests, from 0 on, and shows the caller without its token", async () => {
  const { stage, send } = await stageWithTwo();
  const refusals = async (caller: string, code: string) =>
    (await stage.metrics()).value("countersign_caller_refusals_total", { listener, caller, code });
  expect(await refusals("reports", "caller_rate_limited")).toBe(0);
  expect(await refusals("shop", "caller_not_allowed")).toBe(0);
  const answers = [await send(token, hmacSite), await send(token, oauthSite), await send(token, oauthSite)];
  for (let n = 0; n < 5; n += 1) answers.push(await send(token, hmacSite));
  const limited = answers.filter(({ status }) => status === 429).length;
  expect(limited).toBeGreaterThan(0);
  expect(await refusals("shop", "caller_not_allowed")).toBe(2);
  expect(await refusals("shop", "caller_rate_limited")).toBe(limited);
  const counted = await stage.metrics();
  const requests = { answered: 6 - limited, not_sent: 2 + limited };
  for (const [outcome, count] of Object.entries(requests)) {
    expect(counted.value("countersign_caller_requests_total", { listener, caller: "shop", outcome })).toBe(count);
  }
  expect(counted.families.get("countersign_caller_requests_total")?.samples).toHaveLength(2);

  const status = await stage.status();
  const [shop, reports] = status.callers;
  const limits = { by: "token", sites: [hmacSite], requestsPerSecond: 3 };
  expect(shop).toMatchObject({ name: "shop", environment: "sandbox", listener, ...limits });
  expect(shop.tally.answeredBy).toEqual({ service: 6 - limited, countersign: 2 + limited });
  expect(shop.tally.failures.caller_rate_limited.count).toBe(limited);
  const nothing = { answeredBy: { service: 0, countersign: 0 } };
  expect(reports).toMatchObject({ sites: ["*"], operations: ["*"], tally: nothing });
  expect(reports.tally.lastAt).toBeUndefined();
  const page = await stage.page();
  expect(page).toMatch(/<h2 id="callers">Callers<\/h2>/);
  expect(page).toContain(`${hmacSite}, every operation, 3 a second`);
  expect(JSON.stringify(status) + page + counted.text).not.toContain("canary");
});

it("shows the callers that are configured, each with its counts since the start", async () => {
  const { stage, send } = await stageWithTwo();
  expect((await send(older, hmacSite)).status).toBe(200);
  const callersOf = async () => (await stage.status()).callers;
  expect((await callersOf())[1].tally.answeredBy.service).toBe(1);
  const { listeners } = stage.config;
  await stage.reload({ listeners: listeners.map((each) => ({ ...each, callers: { kind: "anyone" } })) });
  expect(await callersOf()).toBeUndefined();
  expect(await stage.page()).not.toContain('id="callers"');
  await stage.reload({ listeners });
  expect((await callersOf())[1].tally.answeredBy.service).toBe(1);
});

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
