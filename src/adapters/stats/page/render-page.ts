import type { RedisStatus, RefusedReload, StatusSnapshot } from "../stats.ts";
import { headline } from "./headline.ts";
import {
  type Column,
  definitions,
  folded,
  Html,
  html,
  list,
  nothing,
  quiet,
  section,
  showMoment,
  showTime,
  table,
} from "./html.ts";
import { judge, type Verdict } from "./judge.ts";
import { becauseOf, findNotices } from "./notices.ts";
import { ages, style, styleHash } from "./style.ts";
import { tokens } from "./tokens.ts";
import { callbacks, callers, failuresAndRefusals, traffic } from "./traffic.ts";
import { openOutcomes, unknownOutcomes } from "./unknown-outcomes.ts";

/** The page's own style and its own icon, and nothing else: no script, no request, no form, no frame around it. */
const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src '${styleHash}'`,
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * The status page, the most urgent first: whether orders succeed; orders that may exist without an answer to their caller;
 * other problems; requests and callbacks; tokens; failures; the process.
 * @param address of the status port, under which its reader has reached it
 * @param refreshSeconds how often the browser loads the page anew; undefined: never
 */
export function renderPage(snapshot: StatusSnapshot, address: string, refreshSeconds?: number) {
  const { clauses, notices } = findNotices(snapshot);
  const verdict = judge(snapshot, clauses);
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${titleOf(snapshot, verdict)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${
  refreshSeconds === undefined
    ? nothing
    : html`<meta http-equiv="refresh" content="${refreshSeconds}">
`
}<link rel="icon" href="${icon(snapshot, verdict)}">
<style>${new Html(style)}</style>
</head>
<body>
${header(snapshot, refreshSeconds)}<main>
${headline(snapshot, verdict)}${unknownOutcomes(snapshot, address)}${notices}${traffic(snapshot)}${callers(snapshot)}${callbacks(snapshot)}${tokens(snapshot)}${failuresAndRefusals(snapshot)}${redis(snapshot)}${configuration(snapshot)}</main>
${footer}</body>
</html>
`;
  return { html: page.text, contentSecurityPolicy };
}

function titleOf({ requests, host }: StatusSnapshot, { title }: Verdict): string {
  const count = openOutcomes(requests);
  return `${count === 0 ? "" : `${count} unknown · `}${title} · Countersign on ${host}`;
}

/** What moment the page shows, and how old it is by now: the browser itself tells, without a script (style.ts). */
function header({ readiness: { isReady }, host, at }: StatusSnapshot, refreshSeconds: number | undefined): Html {
  const words = ages.map(({ words }, index) => html`<span class="age-${index}">${words}</span>`);
  const live = html`reloads every ${refreshSeconds ?? 0} s, <a href="/still">pause it</a>`;
  const paused = html`<strong>paused</strong>, <a href="/">let it reload</a>`;
  return html`<header><h1>Countersign</h1>
<p><code>${host}</code> <span class="badge${isReady ? "" : " trouble"}">${isReady ? "ready" : "not ready"}</span></p>
<p class="soft">${refreshSeconds === undefined ? paused : live} · as of ${showMoment(at)}, <span class="ages">${words}</span></p></header>
<p class="stale notice bad"><strong>What you see is old.</strong> ${refreshSeconds === undefined ? paused : html`No reload has succeeded since: is the process there, and the way to it?`}</p>
`;
}

const footer = html`<footer><p>The same as JSON: <a href="/status">/status</a></p></footer>
`;

const dots: Readonly<Record<Verdict["tone"], string>> = {
  good: "#1f8a4c",
  idle: "#7b8794",
  warn: "#c77700",
  bad: "#d92d20",
};

/** A dot in the browser's tab, in the colour of the headline; red when an outcome is unknown. */
function icon({ requests }: StatusSnapshot, { tone }: Verdict): string {
  const dot = `<circle cx="8" cy="8" r="7" fill="${dots[openOutcomes(requests) === 0 ? tone : "bad"]}"/>`;
  return `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">${dot}</svg>`)}`;
}

const redisColumns = (now: string): readonly Column<RedisStatus>[] => [
  ["Server", ({ node, address }) => html`<code>${node}</code> ${quiet(address)}`],
  ["State", showState],
  ["Since", ({ since }) => showTime(since, now, "–")],
];

/** The Redis servers that share tokens, and whether they answer. */
function redis({ redis: servers, at }: StatusSnapshot): Html {
  const unused = html`<p class="soft">Not used: tokens are kept in this process.</p>`;
  const content = servers.length === 0 ? unused : table("Redis servers", redisColumns(at), servers);
  return section("redis", "Redis", content, servers.some(({ isUp }) => isUp === false) ? "full" : "light");
}

function showState({ isUp, failure }: RedisStatus): Html {
  if (isUp === false) return html`<span class="badge trouble">away: ${failure ?? "other"}</span>`;
  return html`<span class="badge active">${isUp ? "up" : "not heard of yet"}</span>`;
}

/** The build and its start, the active configuration, and the last refused configuration. */
function configuration({ at, version, runtime, startedAt, configHash, reload }: StatusSnapshot): Html {
  const { inForceSince, trigger, lastRefused } = reload;
  const facts = definitions([
    [
      "Countersign",
      html`<code>${version}</code> on Node.js <code>${runtime}</code>, started ${showTime(startedAt, at)}`,
    ],
    [
      "Configuration",
      html`<code>${configHash}</code>, active ${showTime(inForceSince, at, "–")}, ${becauseOf[trigger]}`,
    ],
  ]);
  const refused = lastRefused === undefined ? nothing : showRefused(lastRefused, at);
  return section("process", "Process", html`${refused}${facts}`, lastRefused?.isPending ? "full" : "light");
}

/** The problems of a refused configuration. While it is pending, the first one is above. */
function showRefused({ at, trigger, problems, problemCount, isPending }: RefusedReload, now: string): Html {
  const more = problemCount - problems.length;
  const shown = html`${list(problems.slice(isPending ? 1 : 0).map((problem) => html`${problem}`))}
${more > 0 ? html`<p>And ${more} more: <code>countersign check</code> prints them.</p>` : nothing}`;
  if (isPending) return problemCount === 1 ? nothing : html`<p>Further problems of what was refused:</p>${shown}`;
  const title = html`A configuration was refused ${becauseOf[trigger]}, ${showTime(at, now)}.`;
  return folded(html`${title} It has been fixed since.`, shown);
}
