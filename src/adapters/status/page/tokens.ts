import type { CredentialStatus, StatusSnapshot, TokenRequestStatus, TokenStatus } from "../snapshot.ts";
import { facts } from "./facts.ts";
import { type Html, html, nothing } from "./html.ts";
import { quiet, showCount } from "./prose.ts";
import { because } from "./reasons.ts";
import { showTime } from "./times.ts";
import { describeLeft, tokenBar } from "./token-bar.ts";

/** How each token stands, who got it and why, and what the login host said last. */
export function tokens({ credentials, redis, at }: StatusSnapshot): Html {
  const cache = redis.length === 0 ? "Taken from this process’s cache" : "Adopted from Redis";
  const cards = html`<p class="soft">Each bar runs from a token’s issue to its expiry. In the shaded part it is refreshed while it is used.</p>
<div class="cards">${credentials.map((credential) => showCredential(credential, cache, at))}</div>
`;
  return html`<section aria-labelledby="tokens"><h2 id="tokens">Tokens</h2>
${credentials.length === 0 ? html`<p class="soft">None: no site has OAuth credentials.</p>` : cards}</section>
`;
}

function showCredential(status: CredentialStatus, cache: string, now: string): Html {
  const { environment, credential, token, lastUsedAt, lastRequest, nextTryAt } = status;
  const entries: (readonly [string, Html])[] = [
    ["Last used", lastUsedAt === undefined ? quiet("never") : showTime(lastUsedAt, now)],
    ["Login host", lastRequest === undefined ? quiet("not asked") : showRequests(status, lastRequest, now)],
    ...(nextTryAt === undefined ? [] : [["Next try", showTime(nextTryAt, now)] as const]),
  ];
  return html`<article class="card"><h3><code>${credential}</code> ${showBadges(status)}</h3>
<p class="soft">${environment}</p>
${token === "none" ? html`<p class="none">no token</p>` : showToken(credential, token, cache, now)}
${facts(entries)}</article>
`;
}

function showBadges({ isActive, lastRequest }: CredentialStatus): Html {
  const use = isActive ? html`<span class="badge active">in use</span>` : html`<span class="badge">stands by</span>`;
  const refused = lastRequest?.result === "refused" ? html`<span class="badge trouble">refused</span>` : nothing;
  return html`<span>${refused} ${use}</span>`;
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
