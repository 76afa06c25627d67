import type { CredentialStatus, StatusSnapshot, TokenRequestStatus, TokenStatus } from "../snapshot.ts";
import { facts } from "./facts.ts";
import { type Html, html, nothing } from "./html.ts";
import { quiet, showCount } from "./prose.ts";
import { because } from "./reasons.ts";
import { showTime } from "./times.ts";
import { describeLeft, tokenBar } from "./token-bar.ts";

/** Of more sets, the rest is folded. */
const shownSets = 12;

/** How each token stands, who got it and why, and what the authorization server said last. */
export function tokens({ credentials, redis, at }: StatusSnapshot): Html {
  const cache = redis.length === 0 ? "Taken from this process’s cache" : "Adopted from Redis";
  const showCards = (some: readonly CredentialStatus[]) =>
    html`<div class="cards">${some.map((credential) => showCredential(credential, cache, at))}</div>
`;
  // What fails comes first where not all are shown.
  const isFine = ({ failingSince }: CredentialStatus) => (failingSince === undefined ? 1 : 0);
  const ordered = credentials.length <= shownSets ? credentials : credentials.toSorted((a, b) => isFine(a) - isFine(b));
  const others = ordered.slice(shownSets);
  const cards = html`<p class="soft">Each bar runs from a token’s issue to its expiry. In the shaded part it is refreshed while it is used.</p>
${showCards(ordered.slice(0, shownSets))}${
  others.length === 0
    ? nothing
    : html`<details><summary>${showCount(others.length)} more sets</summary>
${showCards(others)}</details>
`
}`;
  return html`<section aria-labelledby="tokens"><h2 id="tokens">Tokens</h2>
${credentials.length === 0 ? html`<p class="soft">None: no site has OAuth credentials.</p>` : cards}</section>
`;
}

function showCredential(status: CredentialStatus, cache: string, now: string): Html {
  const { environment, credential, token, lastUsedAt, lastRequest, nextTryAt, failingSince } = status;
  const entries: (readonly [string, Html])[] = [
    ["Last used", lastUsedAt === undefined ? quiet("never") : showTime(lastUsedAt, now)],
    ["Authorization server", lastRequest === undefined ? quiet("not asked") : showRequests(status, lastRequest, now)],
    ...(failingSince === undefined ? [] : [["Failing", html`since ${showTime(failingSince, now)}`] as const]),
    ...(nextTryAt === undefined ? [] : [["Next try", showTime(nextTryAt, now)] as const]),
  ];
  return html`<article class="card"><h3><code>${credential}</code> ${showBadges(status)}</h3>
<p class="soft">${environment}</p>
${token === "none" ? html`<p class="none">no token</p>` : showToken(credential, token, cache, now)}
${facts(entries)}</article>
`;
}

function showBadges({ isActive, lastRequest, failingSince, token }: CredentialStatus): Html {
  const isUsable = token !== "none" || failingSince === undefined;
  const use = isActive && isUsable ? html`<span class="badge active">in use</span>` : nothing;
  const standBy = isActive ? nothing : html`<span class="badge">stands by</span>`;
  const isRefused = lastRequest?.result === "refused";
  const trouble = isRefused ? "refused" : "failing";
  const failing = failingSince === undefined ? nothing : html`<span class="badge trouble">${trouble}</span>`;
  return html`<span>${failing} ${use}${standBy}</span>`;
}

function showToken(credential: string, token: TokenStatus, cache: string, now: string): Html {
  return html`<p class="left">${describeLeft(token)}</p>
${tokenBar(credential, token)}
<div class="ends"><span>issued ${showTime(token.issuedAt, now)}</span><span>expires ${showTime(token.expiresAt, now)}</span></div>
<p class="origin">${describeOrigin(token, cache)}.</p>`;
}

/** Who got it, and why. */
function describeOrigin({ issuedHere, reason }: TokenStatus, cache: string): string {
  if (issuedHere) return `Issued here, ${because[reason]}`;
  return reason === "reload" ? "Kept when the configuration changed" : `${cache}, ${because[reason]}`;
}

function showRequests({ requests }: CredentialStatus, last: TokenRequestStatus, now: string): Html {
  const counts = Object.entries(requests).map(([result, times]) => `${showCount(times)} ${plain(result)}`);
  const status = last.status === undefined ? "" : ` (${last.status})`;
  return html`${counts.join(", ")}. Last: ${plain(last.result)}${status}, asked ${because[last.reason]}, ${showTime(last.at, now)}`;
}

function plain(result: string): string {
  return result.replace("_", " ");
}
