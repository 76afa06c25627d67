import { type FailureCode, failures } from "../../../model/errors.ts";
import { listNames } from "../../../model/names.ts";
import { isNotAsked } from "../../../oauth/token-endpoint.ts";
import type { RecentFailure, RecentStep } from "../recent-requests.ts";
import type { EnvironmentStatus, StatusSnapshot } from "../stats.ts";
import { sumOf } from "../sums.ts";
import type { TokenOutage, TokenRequestStatus } from "../token-stats.ts";
import {
  describeAge,
  describeDuration,
  describeSpan,
  type Html,
  html,
  list,
  nothing,
  showCount,
  showSentence,
} from "./html.ts";

/** From this share of failures on it is more than chance, and how many it takes. */
const failingShare = 0.05;
const failingRequests = 2;
/** A list of all would push everything else out of sight. */
export const named = 3;

/** `good`: nothing failed, and nothing is amiss. `idle`: no request, or none that failed beside something amiss. */
type Tone = "good" | "idle" | "warn" | "bad";

/** Whether orders succeed: the page's headline, its title and its icon. */
export interface Verdict {
  readonly tone: Tone;
  /** The headline. */
  readonly title: string;
  /** The share that failed; `–` without a request. */
  readonly share: string;
}

/**
 * Judges the requests of the last minutes, of all environments together.
 * @param hasNotice whether the page says that something else needs attention
 */
export function judge({ environments, requests }: StatusSnapshot, hasNotice: boolean): Verdict {
  const all = sumOf(environments, ({ recent }) => recent.requests);
  const failed = sumOf(environments, ({ recent }) => sumOf(recent.failures, ({ count }) => count));
  const isAmiss = hasNotice || requests.unknownOutcomes > 0;
  const hasOutage = environments.some(({ tokenOutage }) => tokenOutage !== undefined);
  const seconds = environments[0]?.recent.seconds ?? 0;
  const lately = `in the last ${describeDuration(seconds * 1_000)}`;
  if (all === 0) return { tone: hasOutage ? "bad" : "idle", title: `No request ${lately}`, share: "–" };
  if (failed === 0) {
    const tone = hasOutage ? "bad" : isAmiss ? "idle" : "good";
    return { tone, title: `No request failed ${lately}`, share: "0 %" };
  }
  const isMore = failed >= failingRequests && failed / all >= failingShare;
  const title = `${showCount(failed)} of ${showCount(all)} ${all === 1 ? "request" : "requests"} failed ${lately}`;
  return { tone: isMore || hasOutage ? "bad" : "warn", title, share: describeShare(failed / all) };
}

/** Never 0 % or 100 % of what is only nearly so. */
function describeShare(share: number): string {
  if (share < 0.01) return "< 1 %";
  return share === 1 ? "100 %" : `${Math.min(Math.round(share * 100), 99)} %`;
}

/** Before all else: the share of requests that failed, why, and a picture of the last minutes. */
export function headline(snapshot: StatusSnapshot, { tone, title, share }: Verdict): Html {
  const { environments, requests, startedAt, at } = snapshot;
  const { inFlight, unknownOutcomes: unknown } = requests;
  const open = `${inFlight === 0 ? "None is" : showCount(inFlight)} under way now.`;
  const doubt =
    unknown === 0 ? "No outcome is unknown" : html`<a href="#unknown">Outcomes unknown: ${showCount(unknown)}</a>`;
  return html`<section class="verdict headline ${tone}" aria-labelledby="headline">
<p class="figure" aria-hidden="true">${share}</p>
<div class="words">
<h2 id="headline">${title}</h2>
${list(environments.flatMap((environment) => describeTrouble(environment, at)))}
<p>${doubt} since the start ${describeAge(startedAt, at)}. ${open} <span class="soft">This page knows this process alone.</span></p>
</div>
${chart(environments)}</section>
`;
}

const height = 40;
const stepWidth = 10;
const fates = ["succeeded", "failed", "unknown"] as const;

/** The last minutes of all environments together, a bar for each step: succeeded below, then failed, then unknown. */
function chart(environments: readonly EnvironmentStatus[]): Html {
  const [first] = environments;
  if (first === undefined) return nothing;
  const steps = first.recent.steps.map((_, index) => addSteps(environments.map(({ recent }) => recent.steps[index])));
  const highest = Math.max(1, ...steps.map(({ succeeded, failed, unknown }) => succeeded + failed + unknown));
  const bars = steps.flatMap((step, index) => drawStep(step, index * stepWidth, height / highest));
  const whole = addSteps(steps);
  const words = fates.map((fate) => `${showCount(whole[fate])} ${fate}`).join(", ");
  const span = describeDuration(first.recent.seconds * 1_000);
  const legend = fates.map((fate) => html`<b class="${fate}"></b>${fate} `);
  return html`<figure class="chart"><svg role="img" aria-label="Requests of the last ${span}: ${words}" viewBox="0 0 ${steps.length * stepWidth} ${height}" preserveAspectRatio="none">${bars}</svg>
<figcaption><span>${span} ago</span><span>now</span><span class="legend">${legend}</span></figcaption></figure>
`;
}

function addSteps(all: readonly (RecentStep | undefined)[]): RecentStep {
  const of = (fate: keyof RecentStep) => all.reduce((sum, step) => sum + (step?.[fate] ?? 0), 0);
  return { succeeded: of("succeeded"), failed: of("failed"), unknown: of("unknown") };
}

function drawStep(step: RecentStep, x: number, scale: number): Html[] {
  let top = height;
  return fates.map((fate) => {
    const tall = step[fate] * scale;
    if (tall === 0) return nothing;
    top -= tall;
    return html`<rect class="${fate}" x="${x}" y="${top.toFixed(2)}" width="${stepWidth - 2}" height="${tall.toFixed(2)}"/>`;
  });
}

/** Why requests of an environment fail, the commonest first. */
function describeTrouble({ name, tokenOutage, recent }: EnvironmentStatus, now: string): Html[] {
  const allFail = sumOf(recent.failures, ({ count }) => count) === recent.requests;
  const kinds = recent.failures.slice(0, named).map((failure) => describeFailure(name, failure, allFail));
  const others = sumOf(recent.failures.slice(named), ({ count }) => count);
  const rest =
    others === 0 ? nothing : html`${showCount(others)} × others in ${name}: see <a href="#failures">failures</a>.`;
  return [describeOutage(name, tokenOutage, "not sent", now), ...kinds, rest];
}

function describeFailure(environment: string, { by, what, count }: RecentFailure, allFail: boolean): Html {
  const place = html`<strong>${showCount(count)} × <code>${what}</code></strong> in ${environment}`;
  if (by === "service") {
    if (what in failures) return html`${place}. The service’s answer began, and the caller did not get all of it.`;
    return html`${place}, answered by the service. ${serviceRefusal(what, allFail)}`;
  }
  return html`${place}. ${what === "499" ? "The caller left before anything was sent." : showSentence(failures[what as FailureCode]?.meaning ?? "")}`;
}

/** What an operator looks at first. The service's interface leaves its statuses open. */
const serviceRefusals: Readonly<Record<string, string>> = {
  "401": "It did not accept the token or the signature.",
  "403": "It did not allow the site or the operation.",
  "404": "It does not know what was asked for.",
  "422": "It did not accept the parameters; with HMAC, perhaps the key or the signature.",
  "429": "It received too many requests.",
};

export function serviceRefusal(status: string, allFail: boolean): string {
  if (status === "404" && allFail) return "It does not know the path: compare the environment’s baseUrl.";
  const known = serviceRefusals[status];
  if (known !== undefined) return known;
  return status.startsWith("5") ? "It failed." : "";
}

/**
 * Nothing without an outage.
 * @param fate what happens to orders meanwhile
 */
export function describeOutage(
  environment: string,
  outage: TokenOutage | undefined,
  fate: "not sent" | "signed",
  now: string,
): Html {
  if (outage === undefined) return nothing;
  const { sites, since, lastRequest, nextTryAt } = outage;
  const lasting = since === undefined ? "" : ` for ${describeSpan(since, now)}`;
  const isDue = nextTryAt === undefined || Date.parse(nextTryAt) <= Date.parse(now) + 1_000;
  return html`<a href="#tokens"><strong>No token</strong></a> for ${listNames(sites, named)} of <strong>${environment}</strong>${lasting}:
the authorization server ${describeCause(lastRequest)}. Their orders are ${fate}. Next try ${isDue ? "now" : describeAge(nextTryAt, now)}.`;
}

/** What the authorization server did, as the end of a sentence. */
export function describeCause(last: TokenRequestStatus | undefined): string {
  const known = [last?.status, last?.cause].filter((each) => each !== undefined);
  const status = known.length === 0 ? "" : ` (${known.join(", ")})`;
  switch (last?.result) {
    case "refused":
      return `refuses the set${status}`;
    case "throttled":
      return `has asked to wait${status}`;
    case "timed_out":
      return `does not answer in time${status}`;
    case "malformed":
      return `answers what is no token${status}`;
    default:
      if (last !== undefined && isNotAsked(last)) return `is not asked${status}`;
      return last?.status === undefined ? `cannot be reached, or gives no complete answer${status}` : `fails${status}`;
  }
}
