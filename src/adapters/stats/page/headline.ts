import { describeUnreachable } from "../../../model/connect-failure.ts";
import { sectionOn } from "../../../model/documents.ts";
import { type FailureCode, failures } from "../../../model/errors.ts";
import { tokenOutages } from "../../../model/events.ts";
import type { RecentFailure } from "../recent-requests.ts";
import type { StatusSnapshot } from "../stats.ts";
import { sumOf } from "../sums.ts";
import { chart } from "./chart.ts";
import {
  describeAge,
  type Html,
  help,
  html,
  list,
  mostNamed,
  nothing,
  showCount,
  showName,
  showSentence,
} from "./html.ts";
import { countAll, type Recent, showFailed, type Verdict } from "./judge.ts";
import { describeOutage } from "./tokens.ts";
import { callbackHelp, meaningOfCallback, serviceRefusal } from "./traffic.ts";
import { openOutcomes } from "./unknown-outcomes.ts";

/** The top of the page: the share of requests that failed, why, and a picture of the last minutes. */
export function headline(snapshot: StatusSnapshot, { tone, title, share, what }: Verdict): Html {
  const { environments, callbacks, requests, docsUrl, startedAt, at } = snapshot;
  const all = countAll(snapshot);
  const outages = environments.map((each) => describeOutage(each, each.tokenOutage, "not sent", at));
  const { inFlight, settledOutcomes: settled } = requests;
  const unknown = openOutcomes(requests);
  const open = `${inFlight === 0 ? "None is" : showCount(inFlight)} under way now.`;
  const doubt =
    unknown === 0
      ? `No outcome is ${settled === 0 ? "" : "left "}unknown`
      : html`<a href="#unknown">Outcomes unknown: ${showCount(unknown)}</a>`;
  return html`<section class="verdict headline ${tone}" aria-labelledby="headline">
<p class="figure" aria-hidden="true">${share}</p>
<div class="words">
<h2 id="headline">${title}</h2>
${list([...outages, ...all.flatMap((recent) => describeTrouble(recent, docsUrl))])}${all.length > 1 ? html`<p>${all.map(showShare)}</p>` : nothing}
<p>${doubt} since the start ${describeAge(startedAt, at)}. ${open} <span class="soft">This page knows this process alone.</span></p>
</div>
${chart(what, what === "request" ? environments : callbacks)}</section>
`;
}

/** One of several: `sandbox: 0 of 600 requests failed.` */
function showShare(recent: Recent): Html {
  return html`${recent.name}: ${showFailed(recent)} failed. `;
}

/** Why requests or callbacks of an environment fail, the commonest first. */
function describeTrouble(recent: Recent, docsUrl: string | undefined): Html[] {
  const { name, failures: kinds } = recent;
  const others = sumOf(kinds.slice(mostNamed), ({ count }) => count);
  const [whose, place] =
    recent.what === "callback"
      ? ["Callbacks: ", html`<a href="#callbacks">callbacks</a>`]
      : ["", html`<a href="#failures">failures</a>`];
  const rest = others === 0 ? nothing : html`${whose}${showCount(others)} × others in ${name}: see ${place}.`;
  return [...kinds.slice(0, mostNamed).map((failure) => describeFailure(recent, failure, docsUrl)), rest];
}

function describeFailure(recent: Recent, failure: RecentFailure, docsUrl: string | undefined): Html {
  const { by, what, count, site, cause } = failure;
  const whose = site === undefined || site === "none" ? nothing : html`, all of ${showName(site)}`;
  const place = html`<strong>${showCount(count)} × <code>${what}</code></strong> in ${recent.name}${whose}`;
  if (recent.what === "callback")
    return html`Callbacks: ${place}. ${describeCallback(recent, failure)} ${help(callbackHelp, docsUrl)}`;
  if (by === "service") {
    if (what in failures) return html`${place}. The service’s answer began, and the caller did not get all of it.`;
    return html`${place}, answered by the service. ${serviceRefusal(what, recent.failed === recent.requests)}${helpOn(what, docsUrl)}`;
  }
  if (what === "499") return html`${place}. The caller left before it had an answer.`;
  if (tokenOutages.some((code) => code === what)) return html`${place}. <a href="#tokens">Tokens</a> says why.`;
  const row = failures[what as FailureCode];
  const why = what === "upstream_timeout" ? missing[cause ?? ""] : describeUnreached(recent, cause);
  return html`${place}. ${why ?? showSentence(row?.meaning ?? "")}${helpOn(String(row?.status), docsUrl)}`;
}

/** What was awaited at the deadline, by the causes of `upstream_timeout`. */
const missing: Readonly<Record<string, string>> = {
  "no connection": "No connection to the service was ready at the deadline: nothing was sent.",
  "no answer": "The service had given no answer at the deadline: the order may exist.",
  "incomplete answer": "The service’s answer was not complete at the deadline: the order may exist.",
  "slow service": "The service had not taken the whole request at the deadline: it may have had an effect.",
  "slow caller": "The caller took the answer too slowly: the order may exist.",
  shutdown: "This process ended before the answer came: the order may exist.",
};

/** Why callbacks do not reach the application, or what it did with them. */
function describeCallback(recent: Recent, { what, cause }: RecentFailure): Html {
  const unreached = what === "application_unreachable" ? describeUnreached(recent, cause) : undefined;
  if (unreached !== undefined) return html`${unreached}`;
  const detail = cause === undefined ? nothing : html` <code>${recent.url}</code>: ${cause}.`;
  return html`${showSentence(meaningOfCallback(what))}${detail}`;
}

function describeUnreached({ url, peerAt }: Recent, cause: string | undefined): string | undefined {
  return cause && `${describeUnreachable(cause, peerAt(new URL(url).origin))}.`;
}

function helpOn(status: string, docsUrl: string | undefined): Html {
  const section = sectionOn(status);
  return section === undefined ? nothing : html` ${help(section, docsUrl)}`;
}
