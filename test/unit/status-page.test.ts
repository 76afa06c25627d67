/** The status page as a function of its snapshot. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { describeAge, describeDuration, html } from "../../src/adapters/status/page/html.ts";
import { renderPage } from "../../src/adapters/status/page/render-page.ts";
import { describeLeft, tokenBar } from "../../src/adapters/status/page/tokens.ts";
import { ago, badNight, darkNight, quietNight } from "./status-snapshot.ts";

const hostile = `"'><script>alert(1)</script>&amp;<!--`;
const harmlessName = "harmless".padEnd(hostile.length, "_");
/** Texts that the page compares or computes with; types allow no others. */
const fixed = /^(\d{4}-|start$|due$|missing$|file_change$|refused$|issued$|timeout$|upstream_|none$)/;

/** Every text in a snapshot replaced, but for those that come from a closed set. */
function replaceTexts<Value>(value: Value, by: string): Value {
  const text = JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "string" && !fixed.test(inner) ? by : inner,
  );
  return JSON.parse(text);
}

const tagsOf = (page: string) => page.replace(/<style>.*<\/style>/s, "").match(/<[^>]*>/g) ?? [];

describe("the status page", () => {
  it("shows every foreign text as a text: tags are the same for names with and without markup", () => {
    const [harmless, poisoned] = [harmlessName, hostile].map((by) => renderPage(replaceTexts(badNight, by)).html);
    const mark = poisoned?.match(/&quot;&#39;&gt;&lt;script&gt;alert\(1\)&lt;\/script&gt;&amp;amp;&lt;!--/g)?.length;
    expect(mark).toBe(harmless?.match(/harmless_+/g)?.length);
    expect(mark).toBeGreaterThan(40);
    const names = (tags: readonly string[]) => tags.map((tag) => tag.replace(/"[^"]*"/g, '""'));
    expect(names(tagsOf(poisoned ?? ""))).toEqual(names(tagsOf(harmless ?? "")));
  });

  it("has no script, no style outside its one element, and leads nowhere but to itself", () => {
    for (const night of [quietNight, badNight]) {
      const tags = tagsOf(renderPage(night, 5).html);
      expect(tags.length).toBeGreaterThan(100);
      expect(tags.filter((tag) => /<script|<iframe|<form| style=| on[a-z]+=|src=/.test(tag))).toEqual([]);
      const links = tags.flatMap((tag) => /href="([^"]*)"/.exec(tag)?.[1] ?? []);
      expect(links.filter((link) => !/^(\/(live|status)?|#[a-z]+|data:image\/svg\+xml,.*)$/.test(link))).toEqual([]);
    }
  });

  it("allows exactly the style that it has", () => {
    const { html: page, contentSecurityPolicy } = renderPage(quietNight);
    const style = /<style>(.*)<\/style>/s.exec(page)?.[1] ?? "";
    const hash = createHash("sha256").update(style).digest("base64");
    expect(contentSecurityPolicy).toContain(`style-src 'sha256-${hash}';`);
  });

  it("says first whether an outcome is unknown, and names only what is amiss", () => {
    const [quiet, bad] = [renderPage(quietNight).html, renderPage(badNight).html];
    expect(quiet).toContain("<title>Nothing unknown · Countersign on shop-7d9f8c6b54-x2k4q</title>");
    expect(quiet).toContain("No outcome is unknown");
    expect(quiet).not.toContain("Needs attention");
    expect(bad).toContain("<title>3 unknown · ");
    expect(bad.indexOf("3 outcomes are unknown")).toBeLessThan(bad.indexOf("Needs attention"));
    expect(bad.indexOf("Needs attention")).toBeLessThan(bad.indexOf('id="requests"'));
    for (const trouble of ["The authorization server refuses", "is away", "A new configuration was refused"]) {
      expect(bad).toContain(trouble);
    }
    const notReady = { ...quietNight, readiness: { isReady: false, reason: "no token yet for production" } };
    expect(renderPage(notReady).html).toContain("Not ready: no token yet for production.");
  });

  it("shows callbacks where there is a listener for them", () => {
    const { html: page } = renderPage(badNight);
    expect(page).toContain(
      "The last callback of production</a> was not taken (<code>application_unreachable</code>, 1 s ago).",
    );
    expect(page).toContain("<dt>May come twice</dt><dd>3: the store of replays failed</dd>");
    expect(renderPage(quietNight).html).not.toContain("May come twice");
    expect(renderPage({ ...badNight, callbacks: [] }).html).not.toMatch(/callback/i);
  });

  it("says before all else which environment gets no token and whose service fails", () => {
    const { html: page } = renderPage(darkNight);
    const text = page
      .replace(/<style>.*<\/style>/s, "")
      .replace(/<[^>]*>/g, "")
      .replace(/\s+/g, " ");
    expect(text).toContain("no token: production");
    expect(text).toContain(
      "No token for S1000000001, S1000000002 of production for 17 min: the authorization server does not answer in time. Their orders are not sent. Next try in 9 s.",
    );
    expect(text).toContain(
      "The service fails in production: 60 % of its answers of the last 5 min are 5xx (12 of 20).",
    );
    expect(page.indexOf("Orders fail")).toBeLessThan(page.indexOf("No outcome is unknown"));
    expect(text).toContain("0 unknown outcomes: each of the 48,112 requests");
    expect(page).not.toContain('<span class="badge active">in use</span>');
    for (const night of [quietNight, badNight]) {
      expect(renderPage(night).html).not.toContain("Orders fail");
      expect(renderPage(night).html).toContain('<span class="badge active">in use</span>');
    }
  });

  it.each([
    [{ result: "failed", status: 503 }, "fails (503)"],
    [{ result: "failed", status: undefined }, "cannot be reached, or gives no complete answer"],
    [
      { result: "failed", status: undefined, cause: "ECONNREFUSED" },
      "cannot be reached, or gives no complete answer (ECONNREFUSED)",
    ],
    [{ result: "failed", status: undefined, cause: "assertion not signed" }, "is not asked (assertion not signed)"],
    [{ result: "refused", status: 401 }, "refuses the set (401)"],
    [{ result: "refused", status: 401, cause: "invalid_client" }, "refuses the set (401, invalid_client)"],
    [{ result: "throttled", status: 429 }, "has asked to wait (429)"],
    [{ result: "malformed", status: 200 }, "answers what is no token (200)"],
  ] as const)("says why there is no token: %o", (last, words) => {
    const environments = darkNight.environments.map((environment) => ({
      ...environment,
      tokenOutage: environment.tokenOutage && {
        ...environment.tokenOutage,
        sites: ["S1", "S2", "S3", "S4", "S5"],
        lastRequest: { at: ago(0), reason: "missing" as const, ...last },
      },
    }));
    const { html: page } = renderPage({ ...darkNight, environments });
    expect(page).toContain(`the authorization server ${words}.`);
    expect(page).toContain("and 2 more of");
  });

  it("says that an old token is not being renewed", () => {
    const credentials = quietNight.credentials.map((set, index) =>
      index === 0 ? { ...set, failingSince: ago(4_000) } : set,
    );
    const { html: page } = renderPage({ ...quietNight, credentials });
    expect(page).toContain("No new token for <code>S1000000001/blue</code>");
    expect(page).not.toContain("Orders fail");
  });

  it("shows rate, latency and answers by class for each environment", () => {
    const { html: page } = renderPage(quietNight);
    expect(page).toContain("4.3 a second; median up to 50 ms, p95 up to 250 ms. Service: 1,287 × 2xx, 3 × 4xx.");
    expect(page).toContain("Service: 47,980 × 2xx, 132 × 4xx.");
    expect(renderPage(darkNight).html).toContain("0.13 a second; median up to 50 ms, p95 above 30 s.");
  });

  it("folds callers' mistakes, and what a thousand sites would push out of sight", () => {
    const [environment] = badNight.environments;
    const [site] = environment?.sites ?? [];
    const [credential] = badNight.credentials;
    if (environment === undefined || site === undefined || credential === undefined)
      throw new Error("the night has one");
    const sites = Array.from({ length: 1_000 }, (_, index) => ({ ...site, identifier: `S${index}` }));
    const credentials = sites.map(({ identifier }, index) => {
      const isFailing = index === 999;
      return { ...credential, credential: `${identifier}/blue`, failingSince: isFailing ? ago(5) : undefined };
    });
    const { html: page } = renderPage({ ...badNight, environments: [{ ...environment, sites }], credentials });
    const unfolded = page.replace(/<details>.*?<\/details>/gs, "");
    expect(unfolded).not.toContain("operation_not_allowed");
    expect(page).toContain("operation_not_allowed");
    expect(page).toContain("<summary>981 more</summary>");
    expect(page).toContain("And 997 more sets are refused.");
    expect(page).toContain("988 more sets");
    expect(unfolded).toContain("<code>S999/blue</code>");
    expect(unfolded).not.toContain("<code>S500/blue</code>");
    expect(page).toContain("<code>S500/blue</code>");
  });

  it("shows a refused reload until it is fixed, with the first of its problems", () => {
    const { lastRefused } = badNight.reload;
    if (lastRefused === undefined) throw new Error("the bad night has one");
    const page = (change: object) =>
      renderPage({ ...quietNight, reload: { ...quietNight.reload, lastRefused: { ...lastRefused, ...change } } }).html;
    expect(page({})).toContain("there is no default key");
    expect(page({ problemCount: 51 })).toContain("And 50 more, in the log.");
    expect(page({ isPending: false })).toContain("It has been fixed since.");
    expect(page({ isPending: false })).not.toContain("Needs attention");
  });

  it("says how many outcomes are only in the log", () => {
    const requests = { ...badNight.requests, unknownOutcomes: 1_203 };
    expect(renderPage({ ...badNight, requests }).html).toContain("And 1,200 before these, in the log.");
    expect(renderPage(badNight).html).not.toContain("before these");
  });
});

describe("html", () => {
  it("escapes what is put in, unless it made it itself", () => {
    const inner = html`<b>${'<&>"'}</b>`;
    expect(html`<p title="${"a'b"}">${inner}${[inner, inner]}${7}</p>`.text).toBe(
      `<p title="a&#39;b">${"<b>&lt;&amp;&gt;&quot;</b>".repeat(3)}7</p>`,
    );
  });
});

describe("a token's bar", () => {
  it.each([
    [3_600_000, "0.00", "young", "1 h left of 1 h"],
    [720_001, "80.00", "young", "12 min left of 1 h"],
    [720_000, "80.00", "due", "12 min left of 1 h"],
    [1, "100.00", "due", "0 s left of 1 h"],
    [0, "100.00", "dead", "expired after 1 h"],
    [-5_000, "100.00", "dead", "expired after 1 h"],
    [3_601_000, "0.00", "young", "1 h left of 1 h"],
  ])("with %i ms left of an hour is drawn to %s %% and is %s", (remainingMs, percent, zone, left) => {
    const life = { lifetimeMs: 3_600_000, remainingMs };
    const { text } = tokenBar("S1/blue", life);
    expect(text).toContain(`<rect class="passed" width="${percent}"`);
    expect(text).toContain(`class="bar ${zone}"`);
    expect(text).toContain(`aria-valuetext="${left}"`);
    expect(describeLeft(life)).toBe(left);
  });
});

it.each([
  [0, "0 s"],
  [59_999, "59 s"],
  [60_000, "1 min"],
  [3_599_999, "59 min"],
  [3_600_000, "1 h"],
  [7_500_000, "2 h 5 min"],
  [86_399_999, "23 h 59 min"],
  [86_400_000, "1 d"],
  [97_200_000, "1 d 3 h"],
])("%i ms are %s", (ms, words) => expect(describeDuration(ms)).toBe(words));

it.each([
  [999, "just now"],
  [-999, "just now"],
  [1_000, "1 s ago"],
  [-10_000, "in 10 s"],
  [180_000, "3 min ago"],
])("%i ms before is %s", (ms, words) => expect(describeAge(ago(ms), ago(0))).toBe(words));
