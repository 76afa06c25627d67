import type { CredentialStatus, RedisStatus, StatusSnapshot } from "../snapshot.ts";
import { type Html, html, nothing } from "./html.ts";
import { showCount } from "./prose.ts";
import { describeAge } from "./times.ts";

/** A list of all would push everything else out of sight. */
const namedSets = 3;

/** What else needs somebody's eye, one line each; nothing on a good day. */
export function notices(snapshot: StatusSnapshot): Html {
  const { readiness, redis, credentials, reload, at } = snapshot;
  const lines = [
    ...(readiness.isReady ? [] : [html`Not ready: ${readiness.reason}.`]),
    ...describeAllRefused(credentials.filter(isRefused)),
    ...summarise(credentials.filter(isFailing)),
    ...redis.filter(({ isUp }) => isUp === false).map((node) => describeAway(node, at)),
    ...(reload.lastRefused?.isPending
      ? [html`<a href="#configuration">A new configuration was refused</a>; the old one stays in force.`]
      : []),
  ];
  if (lines.length === 0) return nothing;
  return html`<section class="notice warn" aria-label="Needs attention"><ul>${lines.map((line) => html`<li>${line}</li>`)}</ul></section>
`;
}

/** Its token is still good, and is not being renewed. What has none is an outage, and stands above. */
function isFailing(credential: CredentialStatus): boolean {
  return credential.failingSince !== undefined && credential.token !== "none" && !isRefused(credential);
}

function summarise(failing: readonly CredentialStatus[]): Html[] {
  const [first, ...others] = failing;
  if (first === undefined) return [];
  const more = others.length === 0 ? nothing : html` and ${showCount(others.length)} more`;
  return [
    html`<a href="#tokens">No new token for <code>${first.credential}</code></a>${more} of ${first.environment}: the authorization server fails. The old one is still good.`,
  ];
}

function isRefused({ lastRequest }: CredentialStatus): boolean {
  return lastRequest?.result === "refused";
}

function describeAllRefused(refused: readonly CredentialStatus[]): Html[] {
  const more = refused.length - namedSets;
  const rest = more > 0 ? [html`<a href="#tokens">And ${showCount(more)} more sets are refused.</a>`] : [];
  return [...refused.slice(0, namedSets).map(describeRefused), ...rest];
}

function describeRefused({ environment, credential, token }: CredentialStatus): Html {
  const rest = token === "none" ? "It has no token." : "It still has a token.";
  return html`<a href="#tokens">The authorization server refuses <code>${credential}</code></a> of ${environment}. ${rest}`;
}

function describeAway({ node, since, failure }: RedisStatus, now: string): Html {
  const away = since === undefined ? "" : ` since ${describeAge(since, now).replace(" ago", "")}`;
  return html`<a href="#redis">Redis <code>${node}</code> is away</a>${away} (${failure ?? "other"}). Every replica keeps its own tokens; no request fails.`;
}
