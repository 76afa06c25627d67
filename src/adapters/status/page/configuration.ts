import type { RefusedReload, ReloadStatus, StatusSnapshot } from "../snapshot.ts";
import { facts } from "./facts.ts";
import { type Html, html, nothing } from "./html.ts";
import { quiet } from "./prose.ts";
import { showTime } from "./times.ts";

/** What is in force since when, where listeners lead, and what was refused in its place. */
export function configuration({ at, configHash, reload }: StatusSnapshot): Html {
  const { inForceSince, trigger, routes, lastRefused } = reload;
  const since = inForceSince === undefined ? quiet("–") : showTime(inForceSince, at);
  return html`<section aria-labelledby="configuration"><h2 id="configuration">Configuration</h2>
${lastRefused === undefined ? nothing : showRefused(lastRefused, at)}${facts([
  ["Hash", html`<code>${configHash}</code>`],
  ["In force", html`${since}, ${becauseOf[trigger]}`],
  ["Listeners", html`<ul>${routes.map((route) => html`<li><code>${route}</code></li>`)}</ul>`],
])}</section>
`;
}

const becauseOf: Readonly<Record<ReloadStatus["trigger"], string>> = {
  start: "since the start",
  sighup: "after a SIGHUP",
  file_change: "after a file had changed",
};

function showRefused({ at, trigger, problems, problemCount, isPending }: RefusedReload, now: string): Html {
  const more = problemCount - problems.length;
  const list = html`<ul>${problems.map((problem) => html`<li class="problem">${problem}</li>`)}</ul>
${more > 0 ? html`<p>And ${more} more, in the log.</p>` : nothing}`;
  const title = html`A configuration was refused ${becauseOf[trigger]}, ${showTime(at, now)}.`;
  if (isPending)
    return html`<div class="notice bad"><p><strong>${title}</strong> What is below stays in force.</p>
${list}</div>
`;
  return html`<details><summary>${title} It has been fixed since.</summary>
${list}</details>
`;
}
