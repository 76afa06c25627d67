import { describeDuration } from "../../../model/clock.ts";
import type { RefreshReason } from "../../../model/events.ts";
import { listNames } from "../../../model/names.ts";
import type { StatusSnapshot } from "../stats.ts";
import { groupBy } from "../sums.ts";
import type { CredentialStatus, SitesWithoutToken, TokenRequestStatus, TokenStatus } from "../token-stats.ts";
import {
  definitions,
  describeAge,
  describeSpan,
  foldRest,
  type Html,
  html,
  mostNamed,
  nothing,
  quiet,
  section,
  showCount,
  showTime,
} from "./html.ts";

/** Further sets are folded. */
const shownSets = 12;
/** From this share of its life on, a token is refreshed while it is used (spec 5.4). */
const dueShare = 0.8;

/** Why a token was requested, as the end of a sentence. */
const because: Readonly<Record<RefreshReason, string>> = {
  start: "at the start",
  missing: "because there was none",
  due: "because the last one was due",
  expired: "because the last one had expired",
  unauthorized: "because the service answered 401",
  redis_recovered: "because Redis was back",
  reload: "because the configuration changed",
};

/** Each credential set: its token, who requested it and why, and the last answer of the authorization server. */
export function tokens({ credentials, redis, at }: StatusSnapshot): Html {
  const cache = redis.length === 0 ? "Taken from this process’s cache" : "Adopted from Redis";
  const showCards = (some: readonly CredentialStatus[]) =>
    html`<div class="cards">${some.map((credential) => showCredential(credential, cache, at))}</div>
`;
  // Failing sets come first if not all are shown.
  const isFine = ({ failingSince }: CredentialStatus) => (failingSince === undefined ? 1 : 0);
  const ordered = credentials.length <= shownSets ? credentials : credentials.toSorted((a, b) => isFine(a) - isFine(b));
  const cards = html`${showCards(ordered.slice(0, shownSets))}${foldRest(ordered.slice(shownSets), "more sets", showCards)}`;
  const isEmpty = credentials.length === 0;
  return section("tokens", "Tokens", isEmpty ? html`<p class="soft">None: no site has OAuth credentials.</p>` : cards);
}

function showCredential(status: CredentialStatus, cache: string, now: string): Html {
  const { environment, credential, token, lastUsedAt, lastRequest, nextTryAt, failingSince } = status;
  const facts = definitions([
    ["Last used", showTime(lastUsedAt, now)],
    ["Authorization server", lastRequest === undefined ? quiet("not asked") : showRequests(status, lastRequest, now)],
    ["Failing", failingSince === undefined ? undefined : html`since ${showTime(failingSince, now)}`],
    ["Next try", nextTryAt === undefined ? undefined : showTime(nextTryAt, now)],
  ]);
  return html`<article class="card"><h3><code>${credential}</code> ${showBadges(status)}</h3>
<p class="soft">${environment}</p>
${token === "none" ? html`<p class="none">no token</p>` : showToken(credential, token, cache, now)}
${facts}</article>
`;
}

function showBadges({ isActive, lastRequest, failingSince, token }: CredentialStatus): Html {
  const use = isActive ? html`<span class="badge active">in use</span>` : nothing;
  const isUsable = token !== "none" || failingSince === undefined;
  const standBy = isUsable && !isActive ? html`<span class="badge">stands by</span>` : nothing;
  const trouble = lastRequest?.result === "refused" ? "refused" : "failing";
  const failing = failingSince === undefined ? nothing : html`<span class="badge trouble">${trouble}</span>`;
  return html`<span>${failing} ${use}${standBy}</span>`;
}

function showToken(credential: string, token: TokenStatus, cache: string, now: string): Html {
  return html`<p class="left">${describeLeft(token)}</p>
${tokenBar(credential, token)}
<div class="ends"><span>issued ${showTime(token.issuedAt, now)}</span><span>expires ${showTime(token.expiresAt, now)}</span></div>
<p class="origin">${describeOrigin(token, cache)}.</p>`;
}

/** Who requested the token, and why. */
function describeOrigin({ issuedHere, reason }: TokenStatus, cache: string): string {
  if (issuedHere) return `Issued here, ${because[reason]}`;
  return reason === "reload" ? "Kept when the configuration changed" : `${cache}, ${because[reason]}`;
}

function showRequests({ requests }: CredentialStatus, last: TokenRequestStatus, now: string): Html {
  const plain = (result: string) => result.replace("_", " ");
  const counts = Object.entries(requests).map(([result, { count }]) => `${showCount(count)} ${plain(result)}`);
  const known = [last.status, last.cause].filter((each) => each !== undefined).join(", ");
  const why = known === "" ? "" : ` (${known})`;
  return html`${counts.join(", ")}. Last: ${plain(last.result)}${why}, asked ${because[last.reason]}, ${showTime(last.at, now)}`;
}

type TokenLife = Pick<TokenStatus, "lifetimeMs" | "remainingMs">;

/**
 * A token's life from issue to expiry, and how much of it has passed. Drawn with attributes of SVG: a style attribute
 * would need a Content-Security-Policy that allows every style.
 */
export function tokenBar(credential: string, { lifetimeMs, remainingMs }: TokenLife): Html {
  const passed = Math.min(Math.max(1 - remainingMs / lifetimeMs, 0), 1);
  const zone = passed >= dueShare ? "due" : "young";
  return html`<svg class="bar ${passed >= 1 ? "dead" : zone}" role="meter" aria-label="Life of the token of ${credential}" aria-valuemin="0" aria-valuemax="100" aria-valuenow="${Math.round(passed * 100)}" aria-valuetext="${describeLeft({ lifetimeMs, remainingMs })}" viewBox="0 0 100 1" preserveAspectRatio="none"><rect class="whole" width="100" height="1"/><rect class="end" x="${dueShare * 100}" width="${100 - dueShare * 100}" height="1"/><rect class="passed" width="${(passed * 100).toFixed(2)}" height="1"/></svg>`;
}

export function describeLeft({ lifetimeMs, remainingMs }: TokenLife): string {
  const whole = describeDuration(lifetimeMs);
  if (remainingMs <= 0) return `expired after ${whole}`;
  return `${describeDuration(remainingMs)} left of ${whole}`;
}

/**
 * The sites of an environment that have no token, one line for each cause. Of refused sets the first alone is told in full.
 * @param fate what happens to orders meanwhile
 */
export function describeOutages(
  environment: string,
  outages: readonly SitesWithoutToken[],
  fate: "not sent" | "signed",
  now: string,
): Html[] {
  const causes = [...groupBy(outages, ({ lastRequest }) => lastRequest?.detail ?? "").values()];
  const more = causes.length - mostNamed;
  const rest = more > 0 ? html`<a href="#tokens">And ${showCount(more)} more causes</a> in ${environment}.` : nothing;
  return [...causes.slice(0, mostNamed).map((alike) => describeOutage(environment, alike, fate, now)), rest];
}

function describeOutage(
  environment: string,
  alike: readonly SitesWithoutToken[],
  fate: "not sent" | "signed",
  now: string,
): Html {
  const [{ since, lastRequest, nextTryAt } = {}, ...more] = alike as readonly Partial<SitesWithoutToken>[];
  const sites = [...new Set(alike.flatMap((outage) => outage.sites))];
  const others = more.flatMap(({ sets = [] }) => sets);
  const too = others.length === 0 ? "" : ` The same of ${listNames(others, mostNamed)}.`;
  const lasting = since === undefined ? "" : ` for ${describeSpan(since, now)}`;
  const isDue = nextTryAt === undefined || Date.parse(nextTryAt) <= Date.parse(now) + 1_000;
  return html`<a href="#tokens"><strong>No token</strong></a> for ${listNames(sites, mostNamed)} of <strong>${environment}</strong>${lasting}:
${describeNoToken(lastRequest)}.${too} Their orders are ${fate}. Next try ${isDue ? "now" : describeAge(nextTryAt, now)}.`;
}

/** Why the last request brought no token, and what to do. */
export function describeNoToken(last: TokenRequestStatus | undefined): string {
  const { detail = "none was issued", fix = "see the log" } = last ?? {};
  return `${detail}; ${fix}`;
}
