/** The status page as a function of its snapshot. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { findDocuments, pageOf, slugOf } from "../../scripts/site/documents.ts";
import { describeClock } from "../../src/adapters/log/lines.ts";
import { describeAge, html } from "../../src/adapters/stats/page/html.ts";
import { renderPage as render } from "../../src/adapters/stats/page/render-page.ts";
import { describeLeft, tokenBar } from "../../src/adapters/stats/page/tokens.ts";
import type { CallbackStatus, EnvironmentStatus, StatusSnapshot } from "../../src/adapters/stats/stats.ts";
import { describeDuration } from "../../src/model/clock.ts";
import { requestFailureCodes } from "../../src/model/errors.ts";
import { forgeryReasons, tokenOutages } from "../../src/model/events.ts";
import { explainCallback } from "../../src/model/service-answer.ts";
import { ago, badNight, darkNight, quietNight, unanswered } from "./status-snapshot.ts";

const hostile = `"'><script>alert(1)</script>&amp;<!--`;
const harmlessName = "harmless".padEnd(hostile.length, "_");
/** Texts that the page compares or calculates with; types allow no others. */
const fixed = /^(\d{4}-|start$|due$|missing$|file_change$|refused$|issued$|timeout$|upstream_|none$)/;

const renderPage = (night: StatusSnapshot, refreshSeconds?: number) => render(night, "localhost:8413", refreshSeconds);

const failuresOf = (what: string, count: number) => ({ failures: [{ by: "service", what, count } as const] });

const toneShown = (snapshot: StatusSnapshot) => /class="verdict headline (\w+)"/.exec(renderPage(snapshot).html)?.[1];

/** The first cause below the headline. */
const firstLine = (night: StatusSnapshot) => {
  const { html: page } = renderPage(night);
  return /<li>(.*?)<\/li>/s.exec(page.slice(page.indexOf('id="headline"')))?.[1] ?? "";
};

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

  it("has no script, no style outside its one element, and links only to itself and the documents", () => {
    for (const night of [quietNight, badNight]) {
      const tags = tagsOf(renderPage(night, 5).html);
      expect(tags.length).toBeGreaterThan(100);
      expect(tags.filter((tag) => /<script|<iframe|<form| style=| on[a-z]+=|src=/.test(tag))).toEqual([]);
      const links = tags.flatMap((tag) => /href="([^"]*)"/.exec(tag)?.[1] ?? []);
      expect(
        links.filter(
          (link) =>
            !/^(\/(still|status)?|#[a-z]+|data:image\/svg\+xml,.*|https:\/\/github\.com\/countersign\/countersign\/blob\/main\/docs\/.*)$/.test(
              link,
            ),
        ),
      ).toEqual([]);
    }
  });

  it("lists all failures in one table, newest first, and None if there are none", () => {
    const [none, elsewhere, some] = [{ ...quietNight, callbacks: [] }, quietNight, badNight].map((night) => {
      const [, failures = ""] = /<h2 id="failures">Failures<\/h2>(.*?)<\/section>/s.exec(renderPage(night).html) ?? [];
      return failures;
    });
    expect(none).toContain("None.");
    expect(elsewhere).toContain('Those of callbacks are among the <a href="#callbacks">callbacks</a>.');
    expect(elsewhere).not.toContain("None.");
    const [shown = ""] = (some ?? "").split("<details>");
    expect(shown.match(/<caption>.*?<\/caption>/g)).toEqual(["<caption>Failures, newest first</caption>"]);
    const rows = [...shown.matchAll(/<th role="rowheader".*?<code>(.*?)<\/code>/g)].map(([, what]) => what);
    expect(rows).toEqual(["refused", "upstream_timeout", "upstream_timeout", "upstream_reset", "401"]);
  });

  it("allows, by its policy, exactly its own style", () => {
    const { html: page, contentSecurityPolicy } = renderPage(quietNight);
    const style = /<style>(.*)<\/style>/s.exec(page)?.[1] ?? "";
    const hash = createHash("sha256").update(style).digest("base64");
    expect(contentSecurityPolicy).toContain(`style-src 'sha256-${hash}';`);
  });

  it("says first whether orders succeed, then whether an outcome is unknown, and then lists only faults", () => {
    const [quiet, bad] = [renderPage(quietNight).html, renderPage(badNight).html];
    expect(quiet).toContain(
      "<title>No request failed in the last 5 min · Countersign on shop-7d9f8c6b54-x2k4q</title>",
    );
    expect(quiet).toContain('class="verdict headline good"');
    expect(quiet).toContain("No outcome is unknown");
    expect(quiet).not.toContain("Needs attention");
    expect(bad).toContain(
      "<title>3 unknown · 3 of 1,290 requests failed in the last 5 min; the last 240 succeeded; a new configuration was refused · ",
    );
    expect(bad).toContain('class="verdict headline warn"');
    expect(bad.indexOf('id="headline"')).toBeLessThan(bad.indexOf("3 outcomes are unknown"));
    expect(bad.indexOf("3 outcomes are unknown")).toBeLessThan(bad.indexOf("Needs attention"));
    expect(bad.indexOf("Needs attention")).toBeLessThan(bad.indexOf('id="requests"'));
    for (const trouble of [
      "https://login.example refuses the set (401); compare client id (blue-id), secret (file /etc/countersign/blue/client-secret) and audience (https://api) with what the service has. The one it has expires in 7 min.",
      "has been away for",
      "A new configuration was refused",
    ]) {
      expect(bad).toContain(trouble);
    }
    const notReady = { ...quietNight, readiness: { isReady: false, reason: "no token yet for production" } };
    expect(renderPage(notReady).html).toContain("Not ready: no token yet for production.");
  });

  it("shows green only if nothing failed, nothing is unknown and nothing needs attention", () => {
    const toneAfter = (recent: Partial<EnvironmentStatus["recent"]>) => toneShown(withRecent(quietNight, recent));
    const toneOf = (change: Partial<StatusSnapshot>) => toneShown({ ...quietNight, ...change });
    expect(toneOf({})).toBe("good");
    expect(toneAfter(failuresOf("404", 1))).toBe("warn");
    expect(toneAfter({ requests: 20, ...failuresOf("404", 1) })).toBe("warn");
    expect(toneAfter({ requests: 20, ...failuresOf("404", 2) })).toBe("bad");
    expect(toneAfter({ requests: 0 })).toBe("idle");
    expect(toneOf({ requests: { ...quietNight.requests, unknownOutcomes: 1 } })).toBe("idle");
    expect(toneOf({ readiness: { isReady: false, reason: "draining" } })).toBe("idle");
    expect(toneOf({ redis: badNight.redis })).toBe("idle");
    expect(toneOf({ reload: badNight.reload })).toBe("idle");
    expect(toneOf({ credentials: badNight.credentials })).toBe("idle");
    expect(toneOf({ callbacks: badNight.callbacks })).toBe("idle");
    const { tokenOutages = [] } = darkNight.environments[0] ?? {};
    expect(toneOf({ environments: quietNight.environments.map((each) => ({ ...each, tokenOutages })) })).toBe("bad");
  });

  it("says in words when an outcome became unknown, and how to look without a reference, only if one is missing", () => {
    const { html: page } = renderPage(badNight);
    expect(page).toContain('<span class="soft">before an answer came</span>');
    expect(page).toContain('<span class="soft">while the answer came</span>');
    expect(page).not.toMatch(/stream_answer|none given/);
    const named = badNight.unknownOutcomes.map((each) => ({ ...each, reference: "A-1" }));
    const [some, all] = [page, renderPage({ ...badNight, unknownOutcomes: named }).html];
    expect([some, all].map((each) => each?.includes("Without a reference, look for the request id"))).toEqual([
      true,
      false,
    ]);
    const whole = badNight.unknownOutcomes.map((each) => ({ ...each, code: undefined, status: 503 }));
    expect(renderPage({ ...badNight, unknownOutcomes: whole }).html).not.toMatch(/(before an|while the) answer came/);
  });

  it("gives less weight to Redis, process and failures while nothing is wrong with them", () => {
    const lightIn = (night: StatusSnapshot) =>
      [...renderPage(night).html.matchAll(/class="light" aria-labelledby="(\w+)"/g)].map(([, id]) => id);
    expect(lightIn(quietNight)).toEqual(["failures", "redis", "process"]);
    expect(lightIn(badNight)).toEqual([]);
  });

  it.each<[string, Partial<EnvironmentStatus>, Partial<StatusSnapshot>]>([
    ["clock is 10 min ahead of the service", { clockSkewSeconds: 600.4 }, {}],
    ["clock is 31 s behind the service", { clockSkewSeconds: -31 }, {}],
    ["1 log line is lost", {}, { droppedLogLines: 1 }],
    ["4,000 log lines are lost", {}, { droppedLogLines: 4_000 }],
  ])("says that its times or the log are not to be trusted: %s", (words, ofEnvironment, change) => {
    const environments = quietNight.environments.map((each) => ({ ...each, ...ofEnvironment }));
    const night = { ...quietNight, ...change, environments };
    expect(renderPage(night).html).toContain(words);
    expect(toneShown(night)).toBe("idle");
    expect(renderPage(quietNight).html).not.toMatch(/clock is|lost/);
  });

  it("shows the worst environment, which a healthy one does not hide, and the site that causes all", () => {
    const [healthy] = withRecent(quietNight, { requests: 600 }).environments;
    const failures = [{ by: "service", what: "401", count: 20, site: "S1000000002" } as const];
    const [failing] = withRecent(quietNight, { requests: 20, failures }).environments;
    if (healthy === undefined || failing === undefined) throw new Error("the night has no environment");
    const night = { ...quietNight, environments: [{ ...healthy, name: "sandbox" }, failing] };
    const { html: page } = renderPage(night);
    expect(toneShown(night)).toBe("bad");
    expect(page).toContain("20 of 20 requests failed in production in the last 5 min");
    expect(page).toContain('aria-hidden="true">100 %</p>');
    expect(page).toContain("sandbox: 0 of 600 requests failed.");
    expect(page).toContain(
      "20 × <code>401</code></strong> in production, all of <code>S1000000002</code>. https://api.example/json-api: it does not accept",
    );
  });

  it("is red if a single site fails, however many others succeed, and lists that site first", () => {
    const failingSites = [{ site: "S1000000003", requests: 2, failed: 2 }];
    const night = withRecent(quietNight, { ...failuresOf("401", 2), requests: 10_000, failingSites });
    const environments = night.environments.map((each) => ({
      ...each,
      sites: each.sites.map((site) => ({ ...site, failedLately: site.identifier === "S1000000003" ? 2 : 0 })),
    }));
    expect(toneShown(night)).toBe("bad");
    expect(toneShown(withRecent(night, { failingSites: [{ site: "S1000000003", requests: 41, failed: 2 }] }))).toBe(
      "warn",
    );
    const { html: page } = renderPage({ ...night, environments });
    const requests = page.slice(page.indexOf('id="requests"'));
    expect(requests.indexOf("S1000000003")).toBeLessThan(requests.indexOf("S1000000001"));
  });

  it("advises to compare the base URL if every request got 404, and only then", () => {
    const after404s = (requests: number) =>
      renderPage(withRecent(darkNight, { requests, ...failuresOf("404", 20) })).html;
    expect(after404s(20)).toContain("it does not know the path; correct the path in environments.production.baseUrl.");
    expect(after404s(21)).not.toContain("baseUrl");
  });

  it.each([
    [1, 1_290, "&lt; 1 %"],
    [999, 1_000, "99 %"],
    [20, 20, "100 %"],
  ])("shows %i failed of %i as %s", (count, requests, share) => {
    const { html: page } = renderPage(withRecent(quietNight, { requests, ...failuresOf("422", count) }));
    expect(page).toContain(`aria-hidden="true">${share}</p>`);
  });

  it.each([
    ["ECONNREFUSED", "connections are refused (ECONNREFUSED); see that it is up"],
    ["CONNECT_TIMEOUT", "no connection in time (CONNECT_TIMEOUT); let this pod reach"],
    ["EAI_AGAIN", "its name cannot be resolved (EAI_AGAIN); correct the name in environments.production.baseUrl"],
    ["CERT_HAS_EXPIRED", "its certificate has expired (CERT_HAS_EXPIRED); its owner has to renew it"],
    ["PROXY_STATUS_407", "put user:password into the file of environments.production.egress.auth"],
    ["EMFILE", "no connection (EMFILE)"],
  ])("says of a service that was not reached where it is, why not, and what to do: %s", (cause, words) => {
    const failures = [{ by: "countersign", what: "upstream_unreachable", count: 3, cause } as const];
    const night = withRecent(quietNight, { failures });
    const environments = night.environments.map((each) => ({ ...each, baseUrl: "https://api.example/json-api" }));
    const { html: page } = renderPage({ ...night, environments });
    const [, line = ""] = /<li>(.*?)<\/li>/.exec(page.slice(page.indexOf('id="headline"'))) ?? [];
    expect(line).toContain("https://api.example: ");
    expect(line).toContain(words);
    expect(line).toContain('docs/troubleshooting.md#orders-get-502-or-504">what to do</a>');
  });

  it.each([
    ["no connection", "nothing was sent"],
    ["no answer", "the order may exist"],
    ["incomplete answer", "the order may exist"],
    ["slow service", "it may have had an effect"],
    ["slow caller", "the order may exist"],
    ["shutdown", "this process ended"],
  ])("says what was awaited when a deadline passed, and what it means: %s", (cause, words) => {
    const failures = [{ by: "countersign", what: "upstream_timeout", count: 3, cause } as const];
    const { html: page } = renderPage(withRecent(quietNight, { failures }));
    const [, line = ""] = /<li>(.*?)<\/li>/.exec(page.slice(page.indexOf('id="headline"'))) ?? [];
    expect(line).toContain(words);
    expect(line).not.toContain("not if");
  });

  it.each(["302", "400", "401", "403", "404", "422", "429", "500", "502", "503", "504"])(
    "leads from the service's %s to its section of the documents, which exists",
    (what) => {
      const failures = [{ by: "service", what, count: 3 } as const];
      const { html: page } = renderPage(withRecent(quietNight, { failures }));
      const [, section = ""] = /troubleshooting\.md#(.*?)"/.exec(page) ?? [];
      expect(section).toContain(what === "302" ? "redirect" : what);
      const titles = readFileSync("docs/troubleshooting.md", "utf8").match(/^## .*/gm) ?? [];
      expect(titles.map((title) => slugOf(title.slice(3)))).toContain(section);
    },
  );

  it("blames the server that was not reached, not the one that a reload has put in its place", () => {
    const failure = { by: "countersign", what: "upstream_unreachable", cause: "ECONNREFUSED", count: 1 } as const;
    const failures = [{ ...failure, server: "http://127.0.0.1:18039" }];
    const { html: page } = renderPage(withRecent(quietNight, { failures }));
    expect(page).toContain(
      "http://127.0.0.1:18039: connections are refused (ECONNREFUSED); environments.production.baseUrl does not name it any more.",
    );
    const [{ baseUrl = "" } = {}] = quietNight.environments;
    const { html: present } = renderPage(
      withRecent(quietNight, { failures: [{ ...failure, server: new URL(baseUrl).origin }] }),
    );
    expect(present).toContain("https://api.example: connections are refused (ECONNREFUSED); see that it is up");
  });

  it("says where the service redirects", () => {
    const failures = [{ by: "service", what: "302", location: "login.corp.example", count: 3 }] as const;
    expect(renderPage(withRecent(quietNight, { failures })).html).toContain(
      "</strong> in production with Location <code>login.corp.example</code>. https://api.example/json-api: no redirect",
    );
  });

  it("is not green if answers are not JSON, and says who may have answered", () => {
    const night = withRecent(quietNight, { requests: 2, notJson: [{ contentType: "text/html", count: 2 }] });
    expect(toneShown(night)).toBe("warn");
    expect(renderPage(night).html).toContain(">2 of 2 answers were not JSON in the last 5 min</h2>");
    expect(renderPage(night).html).toContain(
      "<strong>2 × <code>text/html</code></strong> in production. https://api.example/json-api: it sends text/html, which is no JSON, so perhaps no order exists; see who answers: ",
    );
  });

  it("says once why requests with a key are refused: what Redis answers, and what to do", () => {
    const failures = [{ by: "countersign", what: "once_unavailable", cause: "Redis", count: 5 }] as const;
    const redis = badNight.redis.map((each) => ({ ...each, failure: "noauth" as const, cause: "WRONGPASS" }));
    const { html: page } = renderPage(withRecent({ ...quietNight, redis }, { failures }));
    const why = "redis://cache:6379: the login is refused (WRONGPASS); correct redis.password";
    expect(page).toContain(`<code>once_unavailable</code></strong> in production. ${why}`);
    expect(page.split(why)).toHaveLength(2);
    const without = withRecent(quietNight, { failures: [{ ...failures[0], cause: "tokens.cache" }] });
    expect(renderPage(without).html).toContain("There is no Redis that replicas share");
  });

  it("shows malformed requests as one line with their causes, behind what an operator can mend", () => {
    const malformed = { by: "countersign", what: "malformed_request" } as const;
    const failures = [
      { ...malformed, cause: "HTTP/2", count: 3, site: "none" },
      { ...malformed, cause: "TLS", count: 2, site: "none" },
      { ...malformed, cause: "Countersign-Once", count: 1, site: "none" },
      { by: "service", what: "404", count: 1 },
    ] as const;
    const { html: page } = renderPage(withRecent(quietNight, { failures }));
    const line =
      "6 × <code>malformed_request</code></strong> in production. 3 × HTTP/2, 2 × TLS, 1 × Countersign-Once. The log has each caller’s address.";
    expect(page).toContain(line);
    expect(page.indexOf("1 × <code>404")).toBeLessThan(page.indexOf(line));
    expect(page).not.toContain("others in production");
  });

  it("names callbacks that an operator can mend before forgeries, however many of these there are", () => {
    const failures = [
      ["signature_wrong", 9],
      ["timestamp_invalid", 5],
      ["application_unreachable", 2],
      ["callback_too_old", 1],
      ["key_missing", 1],
    ] as const;
    const night = withCallbacks(quietNight, {
      requests: 18,
      failures: failures.map(([what, count]) => ({ by: "countersign", what, count })),
    });
    const named = [...renderPage(night).html.matchAll(/Callbacks: <strong>\d × <code>(\w+)/g)].map(([, what]) => what);
    expect(named).toEqual(["application_unreachable", "callback_too_old", "key_missing"]);
  });

  it("says whether it is over: when the last request failed, and how many have succeeded since", () => {
    const failed = { ...failuresOf("404", 3), lastFailedAt: ago(40_000) };
    const over = renderPage(withRecent(quietNight, { ...failed, succeededSince: 12 })).html;
    expect(over).toContain("The last one failed 40 s ago; the 12 since then succeeded.");
    const lasting = renderPage(withRecent(quietNight, { ...failed, succeededSince: 0 })).html;
    expect(lasting).toContain("The last one failed 40 s ago. ");
    const [environment = expect.unreachable()] = withRecent(quietNight, { ...failed, succeededSince: 12 }).environments;
    const two = { ...quietNight, environments: [environment, { ...environment, name: "sandbox" }] };
    expect(renderPage(two).html).toContain(
      "sandbox: 3 of 1,290 requests failed, the last 40 s ago; the 12 since then succeeded.",
    );
    expect(renderPage(withRecent(quietNight, { lastFailedAt: ago(400_000), succeededSince: 12 })).html).not.toContain(
      "The last one failed",
    );
  });

  it("is amber once nothing has failed for a minute and requests have succeeded", () => {
    const failed = failuresOf("404", 300);
    const shown = (agoMs: number, succeededSince: number) =>
      toneShown(withRecent(quietNight, { ...failed, lastFailedAt: ago(agoMs), succeededSince }));
    expect([shown(59_000, 20), shown(60_000, 1), shown(60_000, 2)]).toEqual(["bad", "bad", "warn"]);
    const over = withRecent(quietNight, { ...failed, lastFailedAt: ago(60_000), succeededSince: 2 });
    expect(renderPage(over).html).toContain("failed in the last 5 min; it seems to be over</h2>");
  });

  it("says at once in heading and title that the last ones succeeded, of requests and of callbacks", () => {
    const recent = { requests: 10, ...failuresOf("404", 2), lastFailedAt: ago(5_000), failedInRow: 2 };
    const shown = (night: StatusSnapshot) => {
      const { html: page } = renderPage(night);
      const [, heading] = /id="headline">(.*?)<\/h2>/.exec(page) ?? [];
      expect(page).toContain(`<title>${heading} · `);
      return heading;
    };
    const given = (succeededSince: number) => withRecent(quietNight, { ...recent, succeededSince });
    expect(shown(given(0))).toBe("2 of 10 requests failed in the last 5 min");
    expect(shown(given(1))).toBe("2 of 10 requests failed in the last 5 min; the last one succeeded");
    expect(shown(given(8))).toBe("2 of 10 requests failed in the last 5 min; the last 8 succeeded");
    expect(toneShown(given(8))).toBe("bad");
    const callbacks = withCallbacks(quietNight, { ...recent, ...failuresOf("declined", 2), succeededSince: 3 });
    expect(shown(callbacks)).toBe("2 of 10 callbacks failed in the last 5 min; the last 3 succeeded");
    const [{ tokenOutages = [] } = {}] = darkNight.environments;
    const dark = { ...given(8), environments: given(8).environments.map((each) => ({ ...each, tokenOutages })) };
    expect(shown(dark)).toBe("2 of 10 requests failed in the last 5 min");
  });

  it("advises no mend of what works now, and keeps why it failed", () => {
    const kinds = [
      { by: "service", what: "404", operation: "create_order", count: 4 },
      {
        by: "countersign",
        what: "credentials_refused",
        cause: "HTTP 401",
        reason: "https://login.example refuses the set (401)",
        count: 3,
      },
      {
        by: "countersign",
        what: "once_unavailable",
        cause: "Redis",
        reason: "redis://cache:6379: connections are refused (ECONNREFUSED)",
        count: 2,
      },
    ] as const;
    const linesAfter = (succeededSince: number) => {
      const recent = { requests: 9 + succeededSince, failures: kinds, failedInRow: 9, succeededSince };
      const { html: page } = renderPage(withRecent(quietNight, recent));
      return page.slice(page.indexOf('id="headline"'), page.indexOf('id="requests"')).replace(/<[^>]*>/g, "");
    };
    expect(linesAfter(0)).toContain("it does not know the path; correct the path in environments.production.baseUrl.");
    const after = linesAfter(8);
    expect(after).toContain("At that time: https://api.example/json-api: it does not know the path. what to do");
    expect(linesAfter(0)).toContain("production. At that time: https://login.example refuses the set (401). Tokens");
    expect(after).toContain(
      "3 × credentials_refused in production. At that time: https://login.example refuses the set (401). Tokens are issued again.",
    );
    expect(after).toContain(
      "2 × once_unavailable in production. At that time: redis://cache:6379: connections are refused (ECONNREFUSED). Redis is back.",
    );
  });

  it("tells a cause of before as past, and without a fix, while another one fails now", () => {
    const now = { by: "service", what: "429", count: 3 } as const;
    const before = { by: "service", what: "404", count: 9, isFormer: true } as const;
    const recent = { requests: 12, failures: [now, before], failedInRow: 3, succeededSince: 0 };
    const { html: page } = renderPage(withRecent(quietNight, recent));
    const lines = page.slice(page.indexOf('id="headline"'), page.indexOf('id="requests"')).replace(/<[^>]*>/g, "");
    expect(lines).toContain("3 × 429 in production. https://api.example/json-api:");
    expect(lines).toContain(
      "9 × 404 in production. At that time: https://api.example/json-api: it does not know the path. what to do",
    );
  });

  it("puts an environment, and callbacks, that fail now before those that failed more", () => {
    const [environment = expect.unreachable()] = quietNight.environments;
    const recentOf = (count: number, succeededSince: number) => {
      const { failures } = failuresOf("503", count);
      return { ...environment.recent, requests: 20, failures, failedInRow: count, succeededSince };
    };
    const night = (one: number, other: number) => ({
      ...quietNight,
      environments: [
        { ...environment, name: "sandbox", recent: recentOf(16, one) },
        { ...environment, name: "production", recent: recentOf(4, other) },
      ],
    });
    expect(firstLine(night(4, 0))).toContain("</strong> in production");
    expect(firstLine(night(0, 0))).toContain("</strong> in sandbox");
    const declined = { failures: [{ by: "service", what: "declined", count: 1 } as const], failedInRow: 1 };
    expect(firstLine(withCallbacks(night(4, 16), declined))).toContain("Callbacks: ");
    expect(firstLine(withCallbacks(night(0, 16), declined))).toContain("</strong> in sandbox");
  });

  it("tells a cause that environments share once", () => {
    const [environment = expect.unreachable()] = quietNight.environments;
    const reason = "redis://cache:6379: connections are refused (ECONNREFUSED)";
    const kind = { by: "countersign", what: "once_unavailable", cause: "Redis", reason, count: 3 } as const;
    const recent = {
      ...environment.recent,
      requests: 6,
      failures: [kind],
      lastFailedAt: ago(9_000),
      succeededSince: 0,
    };
    const environments = ["sandbox", "production"].map((name) => ({ ...environment, name, recent }));
    const { html: page } = renderPage({ ...quietNight, environments });
    const lines = page.slice(page.indexOf('id="headline"'), page.indexOf('id="requests"')).replace(/<[^>]*>/g, "");
    expect(lines).toContain("3 × once_unavailable in sandbox; 3 × once_unavailable in production. redis://cache:6379:");
    expect(lines.split(reason)).toHaveLength(2);
    expect(lines).toContain(
      "sandbox: the last one failed 9 s ago. production: 3 of 6 requests failed, the last 9 s ago.",
    );
  });

  it("names each environment that fails, the worst first", () => {
    const [environment = expect.unreachable()] = quietNight.environments;
    const titleOf = (...failed: readonly (readonly [name: string, failed: number, requests: number])[]) => {
      const environments = failed.map(([name, count, requests]) => ({
        ...environment,
        name,
        recent: { ...environment.recent, requests, ...failuresOf("401", count), succeededSince: 0 },
      }));
      const { html: page } = renderPage({ ...quietNight, environments });
      return [
        /id="headline">(.*?) in the last 5 min<\/h2>/.exec(page)?.[1],
        /aria-hidden="true">(.*?)<\/p>/.exec(page)?.[1],
      ];
    };
    expect(titleOf(["sandbox", 6, 6], ["production", 2, 2])).toEqual([
      "6 of 6 requests failed in sandbox, 2 of 2 in production",
      "100 %",
    ]);
    expect(titleOf(["sandbox", 2, 3], ["production", 1, 1])).toEqual([
      "1 of 1 request failed in production, 2 of 3 in sandbox",
      "100 %",
    ]);
    expect(titleOf(["sandbox", 2, 3], ["production", 1, 60])[0]).toBe("2 of 3 requests failed in sandbox");
    expect(titleOf(["a", 4, 4], ["b", 3, 4], ["c", 2, 4], ["d", 2, 5])[0]).toBe(
      "4 of 4 requests failed in a, 3 of 4 in b, 2 of 4 in c and 1 more",
    );
  });

  it("has one bullet for one cause, however many sets it concerns", () => {
    const [environment = expect.unreachable()] = darkNight.environments;
    const [outage = expect.unreachable()] = environment.tokenOutages;
    const detail = "https://login.example refuses the set (401)";
    const tokenOutages = [
      { ...outage, sites: ["S1"], sets: ["S1/blue"], lastRequest: { ...unanswered, detail, fix: "compare blue" } },
      { ...outage, sites: ["S1"], sets: ["S1/green"], lastRequest: { ...unanswered, detail, fix: "compare green" } },
      { ...outage, sites: ["S2"], sets: ["S2/own"], lastRequest: { ...unanswered, detail, fix: "compare own" } },
    ];
    const { html: page } = renderPage({ ...darkNight, environments: [{ ...environment, tokenOutages }] });
    expect(page.split("No token</strong>")).toHaveLength(2);
    expect(page.replace(/<[^>]*>|\n/g, "")).toContain(
      "No token for S1, S2 of production for 17 min:https://login.example refuses the set (401); compare blue. The same of S1/green, S2/own. Their orders",
    );
  });

  it("says in short words what callers sent", () => {
    const mistakes = [
      ["malformed_request", "HPE_INVALID_METHOD"],
      ["malformed_request", "HPE_CR_EXPECTED"],
      ["method_not_allowed", "GET"],
      ["method_not_allowed", "CONNECT"],
    ] as const;
    const failures = mistakes.map(([what, cause]) => ({ by: "countersign", what, cause, count: 2 }) as const);
    const { html: page } = renderPage(withRecent(quietNight, { requests: 8, failures }));
    expect(page).toContain("4 × <code>malformed_request</code></strong> in production. 2 × method, 2 × line end.");
    expect(page).toContain("4 × <code>method_not_allowed</code></strong> in production. 2 × GET, 2 × CONNECT. ");
    expect(page).not.toContain("HPE_");
  });

  it("begins with the failures of the environment that the headline names", () => {
    const [first = expect.unreachable()] = withRecent(quietNight, {
      requests: 2,
      ...failuresOf("404", 1),
    }).environments;
    const [second = expect.unreachable()] = withRecent(quietNight, {
      requests: 9,
      ...failuresOf("401", 9),
    }).environments;
    const { html: page } = renderPage({ ...quietNight, environments: [first, { ...second, name: "sandbox" }] });
    expect(page).toContain("9 of 9 requests failed in sandbox");
    expect(page.indexOf("9 × <code>401")).toBeLessThan(page.indexOf("1 × <code>404"));
  });

  it("says why each site has no token, and names so many causes", () => {
    const [environment = expect.unreachable()] = darkNight.environments;
    const [outage = expect.unreachable()] = environment.tokenOutages;
    const tokenOutages = ["S1", "S2", "S3", "S4", "S5"].map((site) => {
      return { ...outage, sites: [site], lastRequest: { ...unanswered, detail: site, fix: `mend ${site}` } };
    });
    const { html: page } = renderPage({ ...darkNight, environments: [{ ...environment, tokenOutages }] });
    const lines = [...page.matchAll(/for (S\d) of .*?\n.*?(mend S\d)/g)].map(([, site, fix]) => [site, fix]);
    expect(lines).toEqual(["S1", "S2", "S3"].map((site) => [site, `mend ${site}`]));
    expect(page).toContain("And 2 more causes</a> in production.");
  });

  it("says of failures that the headline explains no more than when and where", () => {
    const [, failures = ""] = /<h2 id="failures">(.*?)<\/section>/s.exec(renderPage(badNight).html) ?? [];
    expect(failures).not.toContain(" or the process ended before");
    expect(failures).toContain("The connection was reset or closed");
  });

  it("says nothing of what is not there", () => {
    const idle = {
      ...quietNight,
      requests: { ...quietNight.requests, inFlight: 0 },
      environments: quietNight.environments.map((each) => ({ ...each, answers: { service: {}, countersign: {} } })),
      callbacks: quietNight.callbacks.map((each) => ({ ...each, results: {}, lastFailure: undefined })),
    };
    expect(renderPage(idle).html).not.toMatch(/under way|In all|Last not taken/);
    expect(renderPage(quietNight).html).toMatch(/2 are under way.*In all.*Last not taken/s);
  });

  it("says of a Redis that is away where it is, why, and what to do", () => {
    const { html: page } = renderPage({ ...quietNight, redis: badNight.redis });
    expect(page).toContain("(redis://cache:6379: connections are refused (ECONNREFUSED); see that it is up,");
    expect(page).toContain('docs/alerts/CountersignRedisDown.md">what to do</a>');
  });

  it("does not say that the service answered if its answer broke off", () => {
    const { html: page } = renderPage(withRecent(quietNight, failuresOf("upstream_reset", 2)));
    expect(page).toContain(
      "2 × <code>upstream_reset</code></strong> in production. https://api.example/json-api: its answer began, and the caller did not get all of it.",
    );
  });

  it("says that only keys are refused while no replica of Redis confirms them", () => {
    const redis = [
      {
        node: "claims",
        address: "redis://cache:6379",
        cause: undefined,
        isUp: false,
        since: ago(9_000),
        failure: "noreplicas" as const,
      },
    ];
    const { html: page } = renderPage({ ...quietNight, redis });
    expect(page).toContain("(redis://cache:6379: no replica confirms what is written (noreplicas); ");
    expect(page).toContain("Requests with <code>Countersign-Once</code> are refused; tokens are shared as before.");
  });

  it("shows callbacks if there is a listener for them", () => {
    const { html: page } = renderPage(badNight);
    expect(page).toContain(
      "The last callback of production</a> was not taken (<code>application_unreachable</code>, 1 s ago): http://127.0.0.1:8080: connections are refused (ECONNREFUSED); see that it is up, and that host and port in callbacks[0].application.url are right; <a ",
    );
    const failures = [{ by: "countersign", what: "application_unreachable", cause: "ECONNREFUSED", count: 1 }] as const;
    expect(renderPage(withCallbacks(badNight, { failures })).html).not.toContain("The last callback");
    expect(page).toContain(
      "<dt>May come twice</dt><dd>3: what was delivered before was not known, or could not be written",
    );
    expect(renderPage(quietNight).html).not.toContain("May come twice");
    expect(renderPage({ ...badNight, callbacks: [] }).html).not.toMatch(/callback/i);
  });

  it.each([
    [
      { what: "application_unreachable", cause: "ECONNREFUSED" },
      "http://127.0.0.1:8080: connections are refused (ECONNREFUSED); see that it is up, and that host and port in callbacks[0].application.url are right. ",
    ],
    [{ what: "application_unreachable", cause: "EMFILE" }, "http://127.0.0.1:8080: no connection (EMFILE). "],
    [{ what: "application_timeout", cause: "no answer" }, " <code>http://127.0.0.1:8080/callbacks</code>: no answer. "],
    [{ what: "declined", cause: "answered 500" }, "<code>http://127.0.0.1:8080/callbacks</code>: answered 500. "],
    [
      { what: "signature_wrong" },
      "It is not signed with the key that it names. Compare the key and its secret, and the parameters in exempt, with the portal; if they are right, it is forged. ",
    ],
  ] as const)("says of failing callbacks where the application is, why, and what to do: %o", (failure, words) => {
    const { html: page } = renderPage(
      withCallbacks(quietNight, { failures: [{ by: "countersign", count: 5, ...failure }] }),
    );
    const [, section = ""] =
      /<li>(?:(?!<li>).)*?Callbacks: .*?docs\/troubleshooting\.md#(.*?)">what to do<\/a><\/li>/s.exec(page) ?? [];
    expect(page).toContain(words);
    const titles = readFileSync("docs/troubleshooting.md", "utf8").match(/^## .*/gm) ?? [];
    expect(titles.map((title) => slugOf(title.slice(3)))).toContain(section);
  });

  it("draws what its headline counts: callbacks if these fail, else requests", () => {
    const steps = quietNight.callbacks[0]?.recent.steps.map((step) => ({ ...step, failed: 1 })) ?? [];
    const failures = [{ by: "countersign", what: "declined", count: 30 }] as const;
    const { html: declined } = renderPage(withCallbacks(quietNight, { requests: 30, failures, steps }));
    expect(declined).toContain("30 of 30 callbacks failed");
    expect(declined).toContain('aria-label="Last 5 min, callbacks: 0 succeeded, 30 failed, 0 unknown"');
    expect(declined).toContain("<span>callbacks</span>");
    const [environment = expect.unreachable()] = badNight.environments;
    const { html: two } = renderPage({ ...badNight, environments: [environment, { ...environment, name: "sandbox" }] });
    expect(two).toMatch(/aria-label="Last 5 min, requests of all environments: [\d,]+ succeeded, 2 failed, 4 unknown"/);
  });

  it("has the command that settles the first outcome, at the address that the reader has used", () => {
    const [first, second] = badNight.unknownOutcomes;
    const [, command] = /<pre>(.*?)<\/pre>/s.exec(renderPage(badNight).html) ?? [];
    expect(command?.replaceAll("&#39;", "'").replaceAll("&quot;", '"')).toBe(
      `curl -sS -H 'Content-Type: application/json' -d '{"found":true}' 'http://localhost:8413/status/unknown/${first?.requestId}'`,
    );
    const settled = { at: ago(0), found: true, note: undefined, key: undefined };
    const unknownOutcomes = badNight.unknownOutcomes.map((each) => (each === first ? { ...each, settled } : each));
    expect(renderPage({ ...badNight, unknownOutcomes }).html).toContain(`/status/unknown/${second?.requestId}`);
    expect(renderPage(quietNight).html).not.toContain("<pre>");
  });

  it("leads to the documentation's site if the configuration has one", () => {
    const callbacks = withCallbacks(badNight, { failures: [{ by: "service", what: "declined", count: 1 }] });
    const environments = callbacks.environments.map((each) => ({ ...each, clockSkewSeconds: 600 }));
    const night = { ...callbacks, environments, droppedLogLines: 1 };
    const linksOf = (docsUrl: string | undefined) =>
      [...renderPage({ ...night, docsUrl }).html.matchAll(/<a href="([^"]*)">what to do/g)].map(([, link]) => link);
    const links = linksOf("https://docs.example/pay");
    expect(links.sort()).toEqual([
      "https://docs.example/pay/docs/alerts/CountersignClockSkew.html",
      "https://docs.example/pay/docs/alerts/CountersignLogLinesDropped.html",
      "https://docs.example/pay/docs/alerts/CountersignRedisDown.html",
      "https://docs.example/pay/docs/troubleshooting.html#callbacks-do-not-arrive",
      "https://docs.example/pay/docs/troubleshooting.html#callbacks-do-not-arrive",
      "https://docs.example/pay/docs/troubleshooting.html#every-order-gets-404",
      "https://docs.example/pay/docs/troubleshooting.html#orders-get-502-or-504",
    ]);
    const pages = findDocuments(".").pages.map(pageOf);
    const paths = links.map((link = "") => link.replace(/^.*?\/pay\/|#.*/g, "").replace(/html$/, "md"));
    expect(paths.filter((path) => !pages.includes(path))).toEqual([]);
  });

  it("puts failing requests into the headline, though a larger share of callbacks fails, which anybody may send", () => {
    const withFailing = (share: number) => {
      const night = withRecent(quietNight, { requests: 100, ...failuresOf("404", share) });
      const { html: page } = renderPage(withCallbacks(night, { requests: 6, ...failuresOf("signature_wrong", 5) }));
      return /<h2 id="headline">([^<]*) failed/.exec(page)?.[1]?.trim();
    };
    expect(withFailing(60)).toBe("60 of 100 requests");
    expect(withFailing(1)).toBe("5 of 6 callbacks");
  });

  it("leads from the rest of the failing callbacks to callbacks, and from that of requests to failures", () => {
    const failures = ["1", "2", "3", "4"].map((what) => ({ by: "service", what, count: 1 }) as const);
    const { html: page } = renderPage(withCallbacks(withRecent(quietNight, { failures }), { failures }));
    expect(page).toContain('<li>1 × others in production: see <a href="#failures">failures</a>.</li>');
    expect(page).toContain('<li>Callbacks: 1 × others in production: see <a href="#callbacks">callbacks</a>.</li>');
  });

  it("says first which environment gets no token, and which failure is most frequent", () => {
    const { html: page } = renderPage(darkNight);
    const text = page
      .replace(/<style>.*<\/style>/s, "")
      .replace(/<[^>]*>/g, "")
      .replace(/\s+/g, " ");
    expect(text).toContain("32 of 40 requests failed in the last 5 min");
    expect(text).toContain(
      "No token for S1000000001, S1000000002 of production for 17 min: https://login.example does not answer in time (no answer); see why it does not answer, or what holds its answers back. Their orders are not sent. Next try in 9 s.",
    );
    expect(text).not.toContain("× token_unavailable");
    expect(text).not.toContain("did not issue one in time");
    expect(text).toContain("12 × 401 in production. https://api.example/json-api: it does not accept the token");
    expect(text.indexOf("No token for")).toBeLessThan(text.indexOf("12 × 401"));
    const over = withRecent(quietNight, {
      failures: [{ by: "countersign", what: "token_unavailable", cause: "HTTP 503", count: 20 }],
    });
    expect(renderPage(over).html).toContain(
      "</strong> in production. At that time: Authorization server: HTTP 503. Tokens are <a",
    );
    for (const badge of ['<span class="badge active">in use</span>', "stands by"]) expect(page).not.toContain(badge);
    expect(renderPage(quietNight).html).toContain('<span class="badge active">in use</span>');
  });

  it("says once why no token comes, and on each set's card", () => {
    const refused = {
      ...unanswered,
      result: "refused" as const,
      status: 401,
      cause: "access_denied",
      detail: "https://login.example refuses the set (401, access_denied)",
      fix: "compare its secret",
    };
    const environments = darkNight.environments.map((each) => ({
      ...each,
      tokenOutages: each.tokenOutages.map((outage) => ({ ...outage, lastRequest: refused })),
    }));
    const blue = darkNight.credentials.slice(0, 1).map((set) => ({ ...set, lastRequest: refused }));
    const shown = (credentials: StatusSnapshot["credentials"]) =>
      renderPage({ ...darkNight, environments, credentials }).html;
    expect(shown(blue).split("compare its secret")).toHaveLength(2);
    expect(shown(blue)).toContain("Last: refused (401, access_denied), asked");
    const other = blue.map((set) => ({ ...set, lastRequest: { ...refused, fix: "compare another secret" } }));
    expect(shown(other)).toContain("compare another secret.</li>");
  });

  it("says that a token still serves but is not being renewed", () => {
    const credentials = quietNight.credentials.map((set, index) =>
      index === 0 ? { ...set, failingSince: ago(4_000) } : set,
    );
    const { html: page } = renderPage({ ...quietNight, credentials });
    expect(page).toContain("No new token for <code>S1000000001/blue</code>");
    expect(page).toContain("The one it has expires in 36 min.");
    expect(page).not.toContain("still good");
    const refused = credentials.map((set) => ({
      ...set,
      lastRequest: { ...unanswered, reason: "unauthorized" } as const,
    }));
    expect(renderPage({ ...quietNight, credentials: refused }).html).toContain(
      "https://login.example does not answer in time (no answer); see why it does not answer, or what holds its answers back. The service has refused the one that it has.",
    );
    // This replica's request was refused; since then a token from another replica serves.
    const served = badNight.credentials.map((set) => ({ ...set, failingSince: undefined }));
    expect(renderPage({ ...quietNight, credentials: served }).html).not.toContain("Needs attention");
  });

  it("shows rate, latency and answers by class for each environment", () => {
    const { html: page } = renderPage(quietNight);
    expect(page).toContain("1,290, 4.3 a second since the first one ended; median up to 50 ms, p95 up to 250 ms.");
    expect(page).toContain("Service: 47,980 × 2xx, 132 × 4xx.");
    expect(renderPage(darkNight).html).toContain(
      "40, 0.13 a second since the first one ended; median up to 50 ms, p95 above 30 s.",
    );
  });

  it("folds callers' mistakes and long lists of sites; /status has the entries that the page leaves out", () => {
    const [environment = expect.unreachable()] = badNight.environments;
    const [site = expect.unreachable()] = environment.sites;
    const [credential = expect.unreachable()] = badNight.credentials;
    const sites = Array.from({ length: 1_100 }, (_, index) => ({ ...site, identifier: `S${index}` }));
    const credentials = sites.map(({ identifier }, index) => {
      const isFailing = index >= 1_090;
      return { ...credential, credential: `${identifier}/blue`, failingSince: isFailing ? ago(5) : undefined };
    });
    const { html: page } = renderPage({ ...badNight, environments: [{ ...environment, sites }], credentials });
    const unfolded = page.replace(/<details>.*?<\/details>/gs, "");
    expect(unfolded).not.toContain("operation_not_allowed");
    expect(page).toContain("operation_not_allowed");
    expect(page).toContain("<summary>1,093 more</summary>");
    expect(page).toContain(
      "No new token for <code>S1090/blue, S1091/blue, S1092/blue and 7 more</code></a> of production: ",
    );
    expect(page.split("No new token for")).toHaveLength(2);
    expect(page).toContain("1,088 more sets");
    for (const more of [93, 88]) expect(page).toContain(`<a href="/status">/status</a> has ${more} more.`);
    expect(unfolded).toContain("<code>S1099/blue</code>");
    expect(unfolded).not.toContain("<code>S500/blue</code>");
    expect(page).toContain("<code>S500/blue</code>");
  });

  it("shows a refused reload until it is fixed, with the first of its problems", () => {
    const { lastRefused = expect.unreachable() } = badNight.reload;
    const page = (change: object) =>
      renderPage({ ...quietNight, reload: { ...quietNight.reload, lastRefused: { ...lastRefused, ...change } } }).html;
    expect(page({})).toContain("there is no default key");
    expect(page({ problems: ["a", "b"], problemCount: 52 })).toContain("And 50 more:");
    expect(page({ problemCount: 51 })).toContain("and 50 more</a>");
    expect(page({ isPending: false })).toContain("It has been fixed since.");
    expect(page({ isPending: false })).not.toContain("Needs attention");
  });

  it.each([
    ["401", "https://api.example: it does not accept the token"],
    ["429", "https://api.example: it gets too many requests"],
    ["503", "https://api.example: it fails"],
    ["302", "https://api.example/json-api/create_order: no redirect is followed"],
    ["404", "https://api.example/json-api/create_order: it does not know the path"],
    [
      "upstream_timeout",
      "https://api.example: it had given no answer at the deadline: the order may exist; see whether",
    ],
    [
      "upstream_reset",
      "production. https://api.example: the connection broke before its answer was complete: the order may exist; see what breaks the connection",
    ],
  ])("names the server, and the path where it matters, of %s", (what, words) => {
    const by = what.startsWith("upstream") ? "countersign" : "service";
    const cause = what === "upstream_timeout" ? "no answer" : undefined;
    const known = { server: "https://api.example", auth: "oauth", operation: "create_order" } as const;
    const failures = [{ by, what, cause, count: 20, ...known } as const];
    expect(firstLine(withRecent(quietNight, { requests: 20, failures }))).toContain(words);
    const elsewhere = [{ by, what, cause, count: 20, ...known, server: "https://old.example" } as const];
    expect(firstLine(withRecent(quietNight, { failures: elsewhere }))).toContain("https://old.example: ");
  });

  it("says of a 401 what can be wrong with the method that the site uses, and not what works for another site", () => {
    const kind = { by: "service", what: "401", count: 9, site: "S1000000002", server: "https://api.example" } as const;
    const withAuth = (auth: "oauth" | "hmac" | undefined, requests: number) =>
      firstLine(withRecent(quietNight, { requests, failures: [{ ...kind, auth }] }));
    const alone = withAuth("oauth", 9);
    expect(alone).toContain("it does not accept the token; compare the set&#39;s audience, authUrl and baseUrl with");
    expect(alone).not.toMatch(/HMAC|signature/);
    const other = withAuth("oauth", 90);
    expect(other).toContain(
      "it does not accept the token, though it accepts those of other sites; compare the set&#39;s audience with the portal, and the site that it is for.",
    );
    expect(other).not.toMatch(/authUrl|baseUrl/);
    const credentials = quietNight.credentials.map((set) => ({
      ...set,
      credential: "S1000000002/own",
      failingSince: ago(9_000),
    }));
    const failures = [{ ...kind, auth: "oauth" } as const];
    expect(firstLine(withRecent({ ...quietNight, credentials }, { failures }))).toContain(
      "it does not accept the token; see why no new one comes.",
    );
    expect(withAuth("hmac", 90)).toContain("it does not accept the signature; compare the key");
    expect(withAuth(undefined, 90)).toContain("it does not accept the token or the signature");
  });

  it("has the problem of a refused configuration at its top, and all of them with the process", () => {
    const { html: page } = renderPage({ ...quietNight, reload: badNight.reload });
    const top = page.slice(page.indexOf('aria-label="Needs attention"'), page.indexOf('id="requests"'));
    expect(top).toContain("environments.production.sites.S1000000003.keys: there is no default key; mark one with");
    expect(top).toContain("after a file had changed, 3 min ago; the old one stays active: ");
    expect(page.split("there is no default key")).toHaveLength(2);
    const { lastRefused = expect.unreachable() } = badNight.reload;
    const many = { ...lastRefused, problems: ["line 1: a", "line 2: b", "line 3: c"], problemCount: 60 };
    const { html: long } = renderPage({ ...quietNight, reload: { ...quietNight.reload, lastRefused: many } });
    expect(long).toContain('line 1: a (<a href="#process">and 59 more</a>).');
    expect(long.slice(long.indexOf('id="process"'))).toContain("<li>line 2: b</li>");
  });

  it("says of callers' mistakes that they are no outage: amber, their share, and what to do", () => {
    const mistakes = [
      { by: "countersign", what: "media_type_not_supported", count: 60 },
      { by: "countersign", what: "method_not_allowed", count: 7 },
    ] as const;
    const night = withRecent(quietNight, { requests: 71, failures: mistakes, lastFailedAt: undefined });
    const { html: page } = renderPage(night);
    expect(toneShown(night)).toBe("warn");
    for (const title of [/<title>(.*?) · /, /id="headline">(.*?)<\/h2>/].map((each) => each.exec(page)?.[1])) {
      expect(title).toBe("No request failed in the last 5 min; 67 of 71 were callers’ mistakes");
    }
    expect(page).toContain('aria-hidden="true">94 %</p>');
    expect(firstLine(night)).toContain(
      "Callers’ mistakes: <strong>60 × <code>media_type_not_supported</code></strong> in production. Content-Type is not",
    );
    const section = slugOf("Orders get 405, 407, 408, 413, 415, 417 or 431");
    expect(firstLine(night)).toContain(`troubleshooting.md#${section}">what to do</a>`);
    expect(toneShown(withRecent(quietNight, { failures: [{ ...mistakes[0], count: 1 }] }))).toBe("idle");
    const alone = renderPage(withRecent(quietNight, { requests: 67, failures: mistakes })).html;
    expect(alone).toContain("No request failed in the last 5 min; 67 of 67 were callers’ mistakes</h2>");
    expect(alone).toContain('aria-hidden="true">100 %</p>');
    const both = [...mistakes, { by: "service", what: "503", count: 1 } as const];
    const mixed = withRecent(quietNight, { requests: 168, failures: both, succeededSince: 0 });
    expect(renderPage(mixed).html).toContain("1 of 101 requests failed in the last 5 min</h2>");
    expect(toneShown(mixed)).toBe("warn");
  });

  it("leads from every code of Countersign that a request can get to a section that exists", () => {
    const titles = (readFileSync("docs/troubleshooting.md", "utf8").match(/^## .*/gm) ?? []).map((title) =>
      slugOf(title.slice(3)),
    );
    for (const what of requestFailureCodes) {
      if (tokenOutages.some((code) => code === what)) continue;
      const page = firstLine(withRecent(quietNight, { failures: [{ by: "countersign", what, count: 3 }] }));
      expect([what, titles]).toEqual([what, expect.arrayContaining([/troubleshooting\.md#(.*?)"/.exec(page)?.[1]])]);
    }
  });

  it("does not say that it is over while keys of orders are refused, or a site has no token", () => {
    const kind = { by: "countersign", what: "once_unavailable", cause: "Redis", count: 30 } as const;
    const recent = { requests: 40, failures: [kind], lastFailedAt: ago(90_000), succeededSince: 9 };
    const shown = (night: StatusSnapshot) => [toneShown(night), renderPage(night).html.includes("it seems to be over")];
    expect(shown(withRecent(quietNight, recent))).toEqual(["warn", true]);
    expect(shown(withRecent({ ...quietNight, redis: badNight.redis }, recent))).toEqual(["bad", false]);
    const failures = [{ by: "service", what: "503", count: 30 } as const];
    expect(shown(withRecent({ ...quietNight, redis: badNight.redis }, { ...recent, failures }))).toEqual([
      "warn",
      true,
    ]);
    const [{ tokenOutages = [] } = {}] = darkNight.environments;
    const dark = withRecent(quietNight, { ...recent, failures });
    const environments = dark.environments.map((each) => ({ ...each, tokenOutages }));
    expect(shown({ ...dark, environments })).toEqual(["bad", false]);
  });

  it.each<[string, StatusSnapshot, string, string]>([
    ["quiet", quietNight, "good", "No request failed in the last 5 min"],
    [
      "Redis away",
      { ...quietNight, redis: badNight.redis },
      "idle",
      "No request failed in the last 5 min, but Redis is away",
    ],
    [
      "several things amiss",
      {
        ...quietNight,
        credentials: badNight.credentials,
        redis: badNight.redis,
        reload: badNight.reload,
        requests: badNight.requests,
      },
      "idle",
      "No request failed in the last 5 min, but 3 outcomes are unknown, no new token comes for S1000000001/blue, Redis is away and 1 more",
    ],
    [
      "callbacks fail, a configuration was refused",
      withCallbacks({ ...quietNight, reload: badNight.reload }, failuresOf("declined", 3)),
      "bad",
      "3 of 5 callbacks failed in the last 5 min; a new configuration was refused",
    ],
    ["no traffic", withRecent(quietNight, { requests: 0 }), "idle", "No request in the last 5 min"],
    [
      "an unknown outcome",
      { ...quietNight, requests: { ...quietNight.requests, unknownOutcomes: 1 } },
      "idle",
      "No request failed in the last 5 min, but 1 outcome is unknown",
    ],
    [
      "no token, no traffic",
      withRecent(
        { ...quietNight, environments: darkNight.environments },
        { requests: 0, failures: [], lastFailedAt: undefined },
      ),
      "bad",
      "No request in the last 5 min, but 2 sites have no token",
    ],
  ])("has the same truth in the tab and the heading: %s", (_, night, tone, words) => {
    const { html: page } = renderPage(night);
    expect(toneShown(night)).toBe(tone);
    expect(/id="headline">(.*?)<\/h2>/.exec(page)?.[1]).toBe(words);
    expect(/<title>(?:\d+ unknown · )?(.*?) · /.exec(page)?.[1]).toBe(words);
  });

  it("says of a wrong clock what the log says", () => {
    const environments = quietNight.environments.map((each) => ({ ...each, clockSkewSeconds: 600 }));
    const [, message = ""] =
      describeClock({ kind: "clock_skew_measured", environment: "production", skewSeconds: 600 }, false) ?? [];
    expect(message).toContain(
      "clock is 10 min ahead of the service's of production: signed orders may be refused; set it",
    );
    expect(renderPage({ ...quietNight, environments }).html.replaceAll("&#39;", "'")).toContain(message.slice(1));
  });

  it("says of a callback that is not genuine what is wrong and what to do, as preview does", () => {
    for (const what of forgeryReasons) {
      const line = firstLine(withCallbacks(quietNight, { failures: [{ by: "countersign", what, count: 5 }] }));
      const { detail = "", fix = "" } = explainCallback(what);
      expect(fix).not.toBe("");
      expect(line.replaceAll("&#39;", "'").toLowerCase()).toContain(`${detail}. ${fix}.`.toLowerCase());
    }
  });

  it("says how many unknown outcomes are only in the log", () => {
    const requests = { ...badNight.requests, unknownOutcomes: 1_203 };
    expect(renderPage({ ...badNight, requests }).html).toContain("And 1,200 before these, in the log.");
    expect(renderPage(badNight).html).not.toContain("before these");
  });
});

it("html escapes inserted texts, except its own results", () => {
  const inner = html`<b>${'<&>"'}</b>`;
  expect(html`<p title="${"a'b"}">${inner}${[inner, inner]}${7}</p>`.text).toBe(
    `<p title="a&#39;b">${"<b>&lt;&amp;&gt;&quot;</b>".repeat(3)}7</p>`,
  );
});

it.each([
  [3_600_000, "0.00", "young", "1 h left of 1 h"],
  [720_001, "80.00", "young", "12 min left of 1 h"],
  [720_000, "80.00", "due", "12 min left of 1 h"],
  [1, "100.00", "due", "0 s left of 1 h"],
  [0, "100.00", "dead", "expired after 1 h"],
  [-5_000, "100.00", "dead", "expired after 1 h"],
  [3_601_000, "0.00", "young", "1 h left of 1 h"],
])("a token's bar with %i ms left of an hour is drawn to %s %% and is %s", (remainingMs, percent, zone, left) => {
  const life = { lifetimeMs: 3_600_000, remainingMs };
  const { text } = tokenBar("S1/blue", life);
  expect(text).toContain(`<rect class="passed" width="${percent}"`);
  expect(text).toContain(`aria-valuenow="${Number(percent)}"`);
  expect(text).toContain(`class="bar ${zone}"`);
  expect(text).toContain(`aria-valuetext="${left}"`);
  expect(describeLeft(life)).toBe(left);
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
])("a moment %i ms ago is %s", (ms, words) => expect(describeAge(ago(ms), ago(0))).toBe(words));

/** Replaces every text in a snapshot, except those from a closed set. */
function replaceTexts<Value>(value: Value, by: string): Value {
  const text = JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "string" && !fixed.test(inner) ? by : inner,
  );
  return JSON.parse(text);
}

/** The snapshot of a night with other recent callbacks; at least one. */
function withCallbacks(night: StatusSnapshot, change: Partial<CallbackStatus["recent"]>): StatusSnapshot {
  const callbacks = night.callbacks.map((each) => ({ ...each, recent: { ...each.recent, requests: 5, ...change } }));
  return { ...night, callbacks };
}

/** The snapshot of a night with other recent requests. */
function withRecent(night: StatusSnapshot, change: Partial<EnvironmentStatus["recent"]>): StatusSnapshot {
  const environments = night.environments.map((each) => ({ ...each, recent: { ...each.recent, ...change } }));
  return { ...night, environments };
}
