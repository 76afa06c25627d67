import { settlingCommand } from "../../../model/listener.ts";
import type { StatusSnapshot, UnknownOutcome } from "../stats.ts";
import {
  type Column,
  type Html,
  html,
  nothing,
  plural,
  quiet,
  section,
  showCount,
  showName,
  showPlace,
  showTime,
  table,
} from "./html.ts";

/** Those that nobody has looked for yet. */
export function openOutcomes({ unknownOutcomes, settledOutcomes }: StatusSnapshot["requests"]): number {
  return unknownOutcomes - settledOutcomes;
}

/** Orders that may exist, although their caller got no answer that says so. Empty if there are none. */
export function unknownOutcomes({ at, requests, unknownOutcomes: all }: StatusSnapshot, address: string): Html {
  const count = openOutcomes(requests);
  const settled = all.filter((each) => each.settled !== undefined);
  const looked = settled.length === 0 ? nothing : showSettled(settled, at);
  if (count === 0) return looked;
  const shown = all.filter((each) => each.settled === undefined);
  const caption = "Requests whose outcome is unknown, newest first";
  const earlier = count - shown.length;
  const more = earlier === 0 ? nothing : html`<p class="rest">And ${showCount(earlier)} before these, in the log.</p>`;
  return html`<section class="verdict bad" aria-labelledby="unknown">
<p class="figure" aria-hidden="true">${showCount(count)}</p>
<div class="words">
<h2 id="unknown">${showCount(count)} ${plural(count, "outcome is", "outcomes are")} unknown</h2>
<p>${plural(count, "It was", "They were")} sent, and the service gave no complete answer, or a 5xx: <strong>an order may exist.</strong>
Look for the reference at the service before anything is sent again.</p>
${shown.some(({ reference }) => reference === undefined) ? withoutReference : nothing}<p>The log of every replica has the rest: <code>"level":"error"</code> with <code>"outcome":"unknown"</code>.</p>
${shown.slice(0, 1).map(({ requestId }) => showCommand(requestId, address))}</div>
${table(caption, outcomeColumns(at), shown, shownOutcomes)}${more}</section>
${looked}`;
}

/** How to take an outcome off the list. */
function showCommand(requestId: string, address: string): Html {
  return html`<p>Once you know, this takes the first one off this list, and another by its own request id; <code>false</code> if there is no order:</p>
<pre>${settlingCommand(requestId, address)}</pre>
`;
}

/** The outcomes that somebody has looked for. */
function showSettled(settled: readonly UnknownOutcome[], now: string): Html {
  const { length } = settled;
  const title = `${showCount(length)} unknown ${plural(length, "outcome was", "outcomes were")} settled`;
  return section("settled", title, table("Requests that were looked for", settledColumns(now), settled, shownOutcomes));
}

const withoutReference = html`<p>Without a reference, look for the request id: the service has it as <code>x-request-id</code>, unless the application sent one. An application gives a reference in <code>Countersign-Reference</code>.</p>
`;

/** The newest; the others are folded. */
const shownOutcomes = 5;
const outcomeColumns = (now: string): readonly Column<UnknownOutcome>[] => [
  [
    "Reference",
    ({ reference: name }) => (name === undefined ? quiet("–") : html`<span class="reference">${showName(name)}</span>`),
  ],
  ["Operation", ({ operation = "none" }) => showName(operation)],
  ["When", ({ at }) => showTime(at, now)],
  ["Site", ({ environment, site }) => showPlace(environment, site)],
  ["Caller", ({ caller }) => (caller === undefined ? quiet("–") : showName(caller))],
  ["What happened", showEnd],
  ["Request id", ({ requestId }) => showName(requestId)],
];

const settledColumns = (now: string): readonly Column<UnknownOutcome>[] => [
  ...outcomeColumns(now).slice(0, 1),
  ["Found", ({ settled }) => showName(settled?.found ? "found" : "not found")],
  ["Note", ({ settled }) => (settled?.note === undefined ? quiet("–") : showName(settled.note))],
  ["Its key", ({ settled }) => (settled?.key === undefined ? quiet("–") : showName(settled.key))],
  ["Settled", ({ settled }) => (settled?.at === undefined ? quiet("–") : showTime(settled.at, now))],
  ["Request id", ({ requestId }) => showName(requestId)],
];

function showEnd({ code, status, stage }: UnknownOutcome): Html {
  const end = code ?? (status === undefined ? "caller left" : `answered ${status}`);
  const isWhole = code === undefined && status !== undefined;
  return html`<code>${end}</code> ${quiet(isWhole ? "" : (momentOf[stage] ?? ""))}`;
}

/** When a request ended, by its stage. */
const momentOf: Readonly<Record<string, string>> = {
  send: "before an answer came",
  stream_answer: "while the answer came",
};
