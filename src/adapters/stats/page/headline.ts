import type { StatusSnapshot } from "../stats.ts";
import { chart } from "./chart.ts";
import { describeAge, type Html, html, list, plural, showCount } from "./html.ts";
import { countAll, type Recent, showFailed, type Verdict } from "./judge.ts";
import { describeOutages } from "./tokens.ts";
import { describeTrouble, foldTroubles } from "./trouble.ts";
import { openOutcomes } from "./unknown-outcomes.ts";

/** The top of the page: the share of requests that failed, why, and a picture of the last minutes. */
export function headline(snapshot: StatusSnapshot, { tone, title, share, what }: Verdict): Html {
  const { environments, callbacks, requests, startedAt, at } = snapshot;
  const all = countAll(snapshot);
  const isOneOfSeveral = all.length > 1 && all.some(({ failed }) => failed > 0);
  const outagesOf = (isMeant: (environment: string) => boolean) =>
    environments
      .filter(({ name }) => isMeant(name))
      .flatMap(({ name, tokenOutages }) => describeOutages(name, tokenOutages, "not sent", at))
      .map((place) => ({ place }));
  // The environment that the title names comes first.
  const lines = all.flatMap((recent) => [
    ...(recent.what === "request" ? outagesOf((name) => name === recent.name) : []),
    ...describeTrouble(recent, snapshot),
  ]);
  const idle = outagesOf((name) => !all.some((recent) => recent.what === "request" && recent.name === name));
  const { inFlight, settledOutcomes: settled } = requests;
  const unknown = openOutcomes(requests);
  const doubt =
    unknown === 0
      ? `No outcome is ${settled === 0 ? "" : "left "}unknown`
      : html`<a href="#unknown">Outcomes unknown: ${showCount(unknown)}</a>`;
  const open = inFlight === 0 ? "" : `${showCount(inFlight)} ${plural(inFlight, "is", "are")} under way now.`;
  return html`<section class="verdict headline ${tone}" aria-labelledby="headline">
<p class="figure" aria-hidden="true">${share}</p>
<div class="words">
<h2 id="headline">${title}</h2>
${list(foldTroubles([...lines, ...idle]))}<p>${all.map((recent, index) => showLast(recent, isOneOfSeveral, index === 0, at)).join("")}${doubt} since the start ${describeAge(startedAt, at)}. ${open}</p>
</div>
${chart(what, what === "request" ? environments : callbacks)}</section>
`;
}

/** Whether it is over. Of several: `sandbox: 20 of 600 requests failed, the last 40 s ago; the 12 since then succeeded.` */
function showLast(recent: Recent, isOneOfSeveral: boolean, isInTitle: boolean, now: string): string {
  const { name, failed, lastFailedAt, succeededSince, othersSince } = recent;
  const share = `${name}: ${showFailed(recent)} failed`;
  if (failed === 0 || lastFailedAt === undefined) return isOneOfSeveral ? `${share}. ` : "";
  const since = succeededSince === 0 ? "" : `; the ${showCount(succeededSince + othersSince)} since then succeeded`;
  const lead = isInTitle ? `${name}: the last one failed` : `${share}, the last`;
  const last = isOneOfSeveral ? lead : "The last one failed";
  return `${last} ${describeAge(lastFailedAt, now)}${since}. `;
}
