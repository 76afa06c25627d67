/** The status page in a browser: readable without a script, self-contained, on any screen, with the data of /status, and without a secret. */
import { once } from "node:events";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { listen } from "../../../src/adapters/http-server/listen.ts";
import { createStatus, type StatusViews } from "../../../src/adapters/http-server/read-only-server.ts";
import { renderPage } from "../../../src/adapters/stats/page/render-page.ts";
import type { StatusSnapshot } from "../../../src/adapters/stats/stats.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { BufferBudget } from "../../../src/serving/buffer-budget.ts";
import { version } from "../../../src/version.ts";
import { call, order } from "../../../testkit/call.ts";
import { hasChromium, launchChromium, type Visit, visit } from "../../../testkit/chromium.ts";
import { nameFor } from "../../../testkit/run-program.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { canaries, hmacSite, stage } from "../../../testkit/stage.ts";
import { badNight, darkNight, quietNight } from "../../unit/status-snapshot.ts";
import { contrasts } from "./contrast.ts";

const minuteMs = 60_000;
const long = "A_1042_9".repeat(8);
const foreignKeys = [
  { identifier: hmacSite, keys: [{ identifier: "K2000000001", secret: "another-api-secret-key", isDefault: true }] },
];

let browser: Browser;

beforeAll(async () => {
  if (hasChromium) browser = await launchChromium();
});
afterAll(async () => {
  if (hasChromium) await browser.close();
});

describe.runIf(hasChromium)(nameFor(hasChromium, "chromium", "the status page in Chromium"), () => {
  it("answers the questions of the person on call within one request and without a script", async () => {
    const { statusUrl, config } = await stageNight();
    const visited = await visit(browser, `${statusUrl}/`, { viewport: { width: 1_400, height: 900 } });
    const { page } = visited;
    await expectPeace(visited);
    const part = async (name: string) =>
      (await page.getByRole("region", { name, exact: true }).innerText()).replace(/\s+/g, " ");
    const doubt = await part("1 outcome is unknown");
    expect(doubt).toContain("an order may exist");
    expect(doubt).toMatch(
      /A-1042 create_order \S+Z 2[45] min ago sandbox S1000000001 – upstream_reset before an answer came/,
    );
    expect(await part("Requests")).toContain("In all Service: 3 × 2xx; Countersign: 1 × 5xx.");
    expect(await part("Failures")).toMatch(/refused 1 \S+ (9|10) min ago sandbox \S+\/blue The auth/);
    expect(await part("Tokens")).toContain("Issued here, because");
    expect(await part("Redis")).toContain("Not used");
    expect(await part("Process")).toContain(config.hash);
    expect(await part("Process")).toContain(version);
    const source = await page.content();
    for (const secret of Object.values(canaries)) expect(source).not.toContain(secret);
  });

  it.each(["upstream_unreachable", "302", "401", "403", "404", "422", "429", "500"] as const)(
    "says at a glance that every order fails: %s",
    async (what) => {
      const { statusUrl, url, simulator, recorder } = await stage({
        site: { auth: ["hmac"] },
        // The simulator has another secret than the proxy.
        ...(what === "422" ? { simulator: { sites: foreignKeys } } : {}),
      });
      if (what === "upstream_unreachable") await simulator.stop();
      else if (what !== "422") {
        simulator.faults.add({ host: "api", kind: "answer", status: Number(what), times: "until_cleared" });
      }
      const headers = { "Countersign-Site": hmacSite };
      const statuses = await Promise.all(
        Array.from({ length: 20 }, async () => (await call(url, order, { headers })).status),
      );
      expect(new Set(statuses)).toEqual(new Set([what === "upstream_unreachable" ? 502 : Number(what)]));
      await recorder.nth("request_finished", 20);
      const { page } = await visit(browser, `${statusUrl}/`, { viewport: { width: 390, height: 844 } });
      const region = page.getByRole("region", { name: "20 of 20 requests failed in the last 5 min" });
      expect((await region.innerText()).replace(/\s+/g, " ")).toMatch(
        new RegExp(`^100 % 20 of 20 .* 20 × ${what} in sandbox`),
      );
      // Without scrolling, and without a green word or dot beside it.
      expect(((await region.boundingBox())?.y ?? 0) + ((await region.boundingBox())?.height ?? 0)).toBeLessThan(844);
      expect(await page.locator(".good").count()).toBe(0);
      expect(await page.locator("link[rel=icon]").getAttribute("href")).not.toContain("1f8a4c");
      const fate = what === "500" ? "unknown" : "failed";
      expect(await page.getByRole("img", { name: `20 ${fate}` }).count()).toBe(1);
      const drawn = await page.locator(`.chart rect.${fate}`).evaluateAll((bars) => bars.length);
      expect(drawn).toBeGreaterThan(0);
    },
  );

  it("shows first that no site gets a token, and on a phone everything else folded", async () => {
    const { environments, ...rest } = darkNight;
    const mistaken = badNight.environments.map((environment, index) => ({ ...environments[index], ...environment }));
    const night = {
      ...rest,
      environments: mistaken.map((environment) => ({
        ...environment,
        tokenOutages: environments[0]?.tokenOutages ?? [],
      })),
    };
    const { page } = await visit(browser, await serve(night), { viewport: { width: 390, height: 844 } });
    const top = async (name: string) => (await page.getByRole("region", { name, exact: true }).boundingBox())?.y ?? 0;
    const outage = page.getByText("No token for");
    // Without scrolling.
    await expect.poll(() => outage.isVisible()).toBe(true);
    expect((await outage.boundingBox())?.y).toBeLessThan(844);
    expect(await page.evaluate<number>("document.documentElement.scrollHeight")).toBeLessThan(3 * 844);
    expect(await top("Tokens")).toBeLessThan(await top("Failures"));
    const mistake = page.getByText("operation_not_allowed", { exact: true });
    const fold = page.getByText("Callers’ mistakes: 28");
    expect(await fold.isVisible()).toBe(false);
    await page.getByRole("heading", { name: "Failures" }).click();
    expect(await mistake.isVisible()).toBe(false);
    await fold.click();
    expect(await mistake.isVisible()).toBe(true);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  });

  it.each([400, 970, 1_400])(
    "needs no scrolling sideways at %i pixels, however long the names, and stays a table",
    async (width) => {
      const unknownOutcomes = badNight.unknownOutcomes.map((outcome) => ({
        ...outcome,
        reference: long,
        operation: long,
      }));
      const credentials = badNight.credentials.map((each) => ({ ...each, environment: long, credential: long }));
      const callbacks = badNight.callbacks.map(({ lastFailure, ...each }) => ({
        ...each,
        ...{ environment: long, listener: long, application: `https://${long}/${long}` },
        lastFailure: lastFailure && { ...lastFailure, cause: long, site: long, requestId: long },
      }));
      const night = { ...badNight, unknownOutcomes, credentials, callbacks, host: long };
      const { page } = await visit(browser, await serve(night), { viewport: { width, height: 900 } });
      expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(width);
      const table = page.getByRole("table", { name: "Requests whose outcome is unknown" });
      expect(await table.locator("tr[role=row]").count()).toBe(1 + 3);
      expect(await table.locator("th[role=rowheader]").allInnerTexts()).toEqual(unknownOutcomes.map(() => long));
      expect(await table.locator("td[role=cell]").count()).toBe(3 * 6);
    },
  );

  it("shows each reference on one line on a desk, whatever else is in its row", async () => {
    const caller = "shop-backend-of-one-team";
    const unknownOutcomes = badNight.unknownOutcomes.map((each) => ({
      ...each,
      reference: "ref-2026-11-0000-21630-x",
      caller,
    }));
    const url = await serve({ ...badNight, unknownOutcomes });
    for (const width of [970, 1_100]) {
      const { page } = await visit(browser, url, { viewport: { width, height: 900 } });
      const heights = await Promise.all((await page.locator(".reference").all()).map((each) => each.boundingBox()));
      expect(heights.map((box) => (box?.height ?? 0) < 30)).toEqual([true, true, true]);
      expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(width);
    }
  });

  it.each(["light", "dark"] as const)("is readable in %s, at a contrast of 4.5 at least", async (colorScheme) => {
    const grounds = new Set<unknown>();
    for (const [night, least] of [
      [quietNight, 60],
      [badNight, 120],
    ] as const) {
      const { page } = await visit(browser, await serve(night), { colorScheme });
      const measured = await contrasts(page);
      expect(measured.length).toBeGreaterThan(least);
      expect(measured.filter(({ ratio }) => ratio < 4.5)).toEqual([]);
      grounds.add(await page.evaluate("getComputedStyle(document.body).backgroundColor"));
    }
    expect([...grounds]).toEqual([colorScheme === "light" ? "rgb(243, 245, 247)" : "rgb(14, 18, 22)"]);
  });

  it.each([
    [0, "less than 30 s old"],
    [29, "less than 30 s old"],
    [31, "over 30 s old"],
    [90, "over 1 min old"],
    [301, "over 5 min old"],
    [9_999, "over 1 h old"],
  ])("says after %i s without a reload how old it is, and from 30 s on that it is old", async (seconds, words) => {
    const { page } = await visit(browser, await serve(quietNight));
    await page.evaluate(`for (const each of document.getAnimations()) each.currentTime = ${seconds * 1_000}`);
    expect(await page.locator(".ages").innerText()).toBe(words);
    const isOld = page.getByText("What you see is old.");
    expect(await isOld.isVisible()).toBe(seconds > 30);
    const loudPx = (await page.locator(".stale").boundingBox())?.height ?? 0;
    expect(loudPx > 20).toBe(seconds > 30);
  });

  it("runs no script and loads nothing, even if the page contained a script", async () => {
    const { html, contentSecurityPolicy } = renderPage(quietNight, "127.0.0.1:7413");
    const poison = "<script>alert(1)</script><img src='http://127.0.0.1:1/x'>";
    const poisoned = { html: html.replace("<main>", `<main>${poison}`), contentSecurityPolicy };
    const url = await serve(quietNight, async () => poisoned);
    const { complaints, otherRequests } = await visit(browser, url, { javaScriptEnabled: true });
    expect(otherRequests).toEqual([]);
    expect(complaints).toHaveLength(2);
    for (const complaint of complaints) expect(complaint).toContain("Content Security Policy");
  });
});

/** Serves a page as the status port does. */
async function serve(
  snapshot: StatusSnapshot,
  page: StatusViews["page"] = async (address) => renderPage(snapshot, address),
): Promise<string> {
  const server = createStatus(
    { snapshot: async () => snapshot, page, settle: () => Promise.reject(new Error("nothing is settled here")) },
    { clock: systemClock, buffers: new BufferBudget(Number.POSITIVE_INFINITY, systemClock) },
  );
  const bind = await listen(server, { kind: "tcp", host: "127.0.0.1", port: 0 });
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  });
  return `http://127.0.0.1:${bind.kind === "tcp" ? bind.port : 0}/`;
}

async function expectPeace({ page, otherRequests, complaints }: Visit): Promise<void> {
  await page.waitForLoadState("networkidle");
  expect(otherRequests).toEqual([]);
  expect(complaints).toEqual([]);
}

/** Two orders created, one unknown, the first credential set deleted; tokens for an hour, 24 min old and younger. */
async function stageNight() {
  const clock = new ShiftedClock();
  const simulator = { tokenLifetimeSeconds: 3_600, nowMs: () => clock.wallMs() };
  const staged = await stage({ surroundings: { clock }, simulator });
  const { url, simulator: service, recorder } = staged;
  await call(url);
  await call(url);
  service.faults.add({ host: "api", kind: "reset", when: "after_reading" });
  await call(url, order, { headers: { "Countersign-Reference": "A-1042" } });
  clock.push(15 * minuteMs);
  service.deleteCredentials("blue-id");
  service.revokeAllTokens();
  // The set green serves the retry.
  expect((await call(url)).status).toBe(200);
  await recorder.nth("token_requested", 1, ({ result }) => result === "refused");
  await recorder.nth("request_finished", 4);
  clock.push(9 * minuteMs);
  return staged;
}
