import type { StatusSnapshot, UnknownOutcome } from "../snapshot.ts";
import { type Html, html, nothing } from "./html.ts";
import { quiet, showCount, showName, showPlace } from "./prose.ts";
import { table } from "./table.ts";
import { describeAge, showTime } from "./times.ts";

/** First of all: whether an order may have been created that nobody knows of. */
export function unknownOutcomes(snapshot: StatusSnapshot): Html {
  const { unknownOutcomes: count } = snapshot.requests;
  return html`<section class="verdict ${count === 0 ? "good" : "bad"}" aria-labelledby="unknown">
<p class="figure" aria-hidden="true">${showCount(count)}</p>
<div class="words">
<h2 id="unknown">${headline(count)}</h2>
<p>${count === 0 ? reassure(snapshot) : advise(count)}</p>
<p class="soft">${showInFlight(snapshot)} This page knows this process alone, since its start ${describeAge(snapshot.startedAt, snapshot.at)}. The log of every replica has
the rest: <code>"outcome":"unknown"</code>.</p>
</div>
${count === 0 ? nothing : list(snapshot)}</section>
`;
}

function headline(count: number): string {
  if (count === 0) return "No outcome is unknown";
  return count === 1 ? "1 outcome is unknown" : `${showCount(count)} outcomes are unknown`;
}

function reassure({ requests: { answeredBy } }: StatusSnapshot): Html {
  const ended = answeredBy.service + answeredBy.countersign;
  if (ended === 0) return html`0 unknown outcomes: no request has ended yet.`;
  const each =
    ended === 1 ? "the one request that has ended" : `each of the ${showCount(ended)} requests that have ended`;
  return html`0 unknown outcomes: ${each} has the service’s own answer, or had no effect.`;
}

function advise(count: number): Html {
  const them = count === 1 ? "It was" : "They were";
  return html`${them} sent, and no complete answer of the service came: <strong>an order may exist.</strong> Look for the reference at the service before
anything is sent again.`;
}

function showInFlight({ requests: { inFlight } }: StatusSnapshot): string {
  if (inFlight === 0) return "None is under way now.";
  return `${showCount(inFlight)} ${inFlight === 1 ? "is" : "are"} under way now.`;
}

const columns = ["Reference", "Operation", "When", "Site", "What happened", "Request id"].map((title) => ({ title }));

function list({ at, requests, unknownOutcomes: shown }: StatusSnapshot): Html {
  const earlier = requests.unknownOutcomes - shown.length;
  const rows = shown.map((outcome) => showRow(outcome, at));
  return html`${table("Requests whose outcome is unknown, newest first", columns, rows)}${
    earlier === 0 ? nothing : html`<p class="rest">And ${showCount(earlier)} before these, in the log.</p>`
  }`;
}

function showRow(
  { at, environment, site, operation, reference, requestId, code, status, stage }: UnknownOutcome,
  now: string,
): Html[] {
  return [
    reference === undefined ? quiet("none given") : html`<span class="reference">${showName(reference)}</span>`,
    showName(operation ?? "none"),
    showTime(at, now),
    showPlace(environment, site),
    html`<code>${code ?? (status === undefined ? "caller left" : `answered ${status}`)}</code> ${quiet(`at ${stage}`)}`,
    showName(requestId),
  ];
}
