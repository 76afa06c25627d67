import type { RefusedReload, ReloadStatus } from "../reload.ts";
import type { RedisStatus, StatusSnapshot } from "../stats.ts";
import { type Column, definitions, folded, type Html, html, list, nothing, section, showTime, table } from "./html.ts";

const redisColumns = (now: string): readonly Column<RedisStatus>[] => [
  ["Server", ({ node }) => html`<code>${node}</code>`],
  [
    "State",
    (server) =>
      html`<span class="badge ${server.isUp === false ? "trouble" : "active"}">${describeState(server)}</span>`,
  ],
  ["Since", ({ since }) => showTime(since, now, "–")],
];

/** Where tokens are shared, and whether it answers. */
export function redis({ redis: servers, at }: StatusSnapshot): Html {
  const unused = html`<p class="soft">Not used: tokens are kept in this process.</p>`;
  return section("redis", "Redis", servers.length === 0 ? unused : table("Redis servers", redisColumns(at), servers));
}

function describeState({ isUp, failure }: RedisStatus): string {
  if (isUp === undefined) return "not heard of yet";
  return isUp ? "up" : `away: ${failure ?? "other"}`;
}

/** Which build this is and since when; what is configured, where listeners lead, and what was refused in its place. */
export function configuration({ at, version, runtime, startedAt, configHash, reload }: StatusSnapshot): Html {
  const { inForceSince, trigger, routes, lastRefused } = reload;
  const facts = definitions([
    [
      "Countersign",
      html`<code>${version}</code> on Node.js <code>${runtime}</code>, started ${showTime(startedAt, at)}`,
    ],
    [
      "Configuration",
      html`<code>${configHash}</code>, active ${showTime(inForceSince, at, "–")}, ${becauseOf[trigger]}`,
    ],
    ["Listeners", list(routes.map((route) => html`<code>${route}</code>`))],
  ]);
  const refused = lastRefused === undefined ? nothing : showRefused(lastRefused, at);
  return section("process", "Process", html`${refused}${facts}`);
}

const becauseOf: Readonly<Record<ReloadStatus["trigger"], string>> = {
  start: "since the start",
  sighup: "after a SIGHUP",
  file_change: "after a file had changed",
};

function showRefused({ at, trigger, problems, problemCount, isPending }: RefusedReload, now: string): Html {
  const more = problemCount - problems.length;
  const shown = html`${list(problems.map((problem) => html`${problem}`))}
${more > 0 ? html`<p>And ${more} more, in the log.</p>` : nothing}`;
  const title = html`A configuration was refused ${becauseOf[trigger]}, ${showTime(at, now)}.`;
  if (!isPending) return folded(html`${title} It has been fixed since.`, shown);
  return html`<div class="notice bad"><p><strong>${title}</strong> What is below stays active.</p>
${shown}</div>
`;
}
