import { type FailureCode, failures } from "../../../model/errors.ts";
import type { CallbackResult } from "../../../model/events.ts";
import type { CallbackFailureStatus, CallbackStatus } from "../callback-stats.ts";
import type { StatusSnapshot } from "../stats.ts";
import type { Occurrence } from "../sums.ts";
import {
  type Column,
  definitions,
  describeAge,
  type Html,
  html,
  nothing,
  quiet,
  section,
  showCount,
  showName,
  showSentence,
  showTime,
  table,
} from "./html.ts";

const meanings: Readonly<Record<string, string>> = {
  delivered: "The application answered 2xx.",
  declined: "The application answered something else than 2xx.",
  repeated: "The application had taken it before; it was answered again, and not handed over.",
  parameter_missing: "It has no `version`, `site_identifier`, `timestamp` or `signature`.",
  site_unknown: "Its site, or its key, is not configured.",
  key_missing: "Its site has no key of that version.",
  signature_wrong: "It is not signed with the key that it names: another key, another `exempt`, or a forgery.",
  timestamp_invalid: "It is signed, and its timestamp is not in Unix seconds.",
} satisfies Record<Exclude<CallbackResult, FailureCode>, string>;
/** Results of genuine callbacks that the application has not taken. */
const untaken: ReadonlySet<string> = new Set<CallbackResult>([
  "declined",
  "application_unreachable",
  "application_failed",
  "application_timeout",
  "replay_store_unavailable",
  "callback_too_old",
  "callback_too_early",
]);

/** What the service sent, and what came of it; nothing without a listener for callbacks. */
export function callbacks({ callbacks: listeners, at }: StatusSnapshot): Html {
  if (listeners.length === 0) return nothing;
  const content = html`${listeners.map((listener) => showListener(listener, at))}`;
  return section("callbacks", "Callbacks", content);
}

const whyUnguarded = "what was delivered before was not known, or could not be written";
const columns = (now: string): readonly Column<readonly [result: string, Occurrence]>[] => [
  ["What came of it", ([result]) => html`<code>${result}</code>`],
  ["Times", ([, { count }]) => count, "number"],
  ["Last", ([, { lastAt }]) => showTime(lastAt, now)],
  ["What it means", ([result]) => showSentence(meanings[result] ?? failures[result as FailureCode]?.meaning ?? "")],
];

function showListener({ environment, listener, application, ...counts }: CallbackStatus, now: string): Html {
  const { lastFailure, unguarded } = counts;
  const results = newestFirst(counts.results);
  const facts = definitions([
    ["Last not taken", lastFailure === undefined ? quiet("none") : showFailure(lastFailure, now)],
    ["May come twice", unguarded === 0 ? undefined : html`${showCount(unguarded)}: ${whyUnguarded}`],
  ]);
  const counted = table(`Callbacks of ${environment} at ${listener}`, columns(now), results);
  return html`<h3>${environment}</h3>
<p class="soft"><code>${listener}</code> leads to <code>${application}</code></p>
${facts}${results.length === 0 ? html`<p class="soft">None yet.</p>` : counted}`;
}

function newestFirst(results: CallbackStatus["results"]) {
  return Object.entries(results).sort(([, one], [, other]) => other.lastAt.localeCompare(one.lastAt));
}

function showFailure({ at, result, status, cause, site, requestId }: CallbackFailureStatus, now: string): Html {
  const why = cause === undefined ? nothing : html` (${cause})`;
  const of = site === undefined ? nothing : html` of ${showName(site)}`;
  return html`<code>${result}</code>${why}${of}, answered ${status}, request ${showName(requestId)} ${showTime(at, now)}`;
}

/** Of a listener whose last genuine callback the application has not taken. */
export function describeUntaken({ environment, results }: CallbackStatus, now: string): Html {
  const [last] = newestFirst(results).filter(([result]) => untaken.has(result));
  if (last === undefined) return nothing;
  const [result, { lastAt }] = last;
  if ((results["delivered"]?.lastAt ?? "") >= lastAt) return nothing;
  return html`<a href="#callbacks">The last callback of ${environment}</a> was not taken (<code>${result}</code>, ${describeAge(lastAt, now)}).`;
}
