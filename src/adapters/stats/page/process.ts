import type { RefusedReload, ReloadStatus } from "../reload.ts";
import type { RedisStatus, StatusSnapshot } from "../stats.ts";
import { definitions, folded, type Html, html, list, nothing, quiet, section, showTime, table } from "./html.ts";

/** Where tokens are shared, and whether it answers. */
export function redis({ redis: nodes, at }: StatusSnapshot): Html {
  const rows = nodes.map((server) => [
    html`<code>${server.node}</code>`,
    html`<span class="badge ${server.isUp === false ? "trouble" : "active"}">${describeState(server)}</span>`,
    server.since === undefined ? quiet("–") : showTime(server.since, at),
  ]);
  const unused = html`<p class="soft">Not used: tokens are kept in this process.</p>`;
  const content = rows.length === 0 ? unused : table("Redis servers", ["Server", "State", "Since"], rows);
  return section("redis", "Redis", content);
}

function describeState({ isUp, failure }: RedisStatus): string {
  if (isUp === undefined) return "not heard of yet";
  return isUp ? "up" : `away: ${failure ?? "other"}`;
}

/** What is active since when, where listeners lead, and what was refused in its place. */
export function configuration({ at, configHash, reload }: StatusSnapshot): Html {
  const { inForceSince, trigger, routes, lastRefused } = reload;
  const since = inForceSince === undefined ? quiet("–") : showTime(inForceSince, at);
  const facts = definitions([
    ["Hash", html`<code>${configHash}</code>`],
    ["Active", html`${since}, ${becauseOf[trigger]}`],
    ["Listeners", list(routes.map((route) => html`<code>${route}</code>`))],
  ]);
  const refused = lastRefused === undefined ? nothing : showRefused(lastRefused, at);
  return section("configuration", "Configuration", html`${refused}${facts}`);
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

/** Which build this is, and where it runs. */
export function build({ at, version, runtime, host, startedAt }: StatusSnapshot): Html {
  const facts = definitions([
    ["Countersign", html`<code>${version}</code>`],
    ["Node.js", html`<code>${runtime}</code>`],
    ["Host", html`<code>${host}</code>`],
    ["Started", showTime(startedAt, at)],
  ]);
  return section("build", "Build", facts);
}
