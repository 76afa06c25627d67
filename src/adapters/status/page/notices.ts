import type { CredentialStatus, RedisStatus, StatusSnapshot } from "../snapshot.ts";
import { type Html, html, nothing } from "./html.ts";
import { describeAge } from "./times.ts";

/** What else needs somebody's eye, one line each; nothing on a good day. */
export function notices(snapshot: StatusSnapshot): Html {
  const { readiness, redis, credentials, reload, at } = snapshot;
  const lines = [
    ...(readiness.isReady ? [] : [html`Not ready: ${readiness.reason}.`]),
    ...credentials.filter(isRefused).map(describeRefused),
    ...redis.filter(({ isUp }) => isUp === false).map((node) => describeAway(node, at)),
    ...(reload.lastRefused?.isPending
      ? [html`<a href="#configuration">A new configuration was refused</a>; the old one stays in force.`]
      : []),
  ];
  if (lines.length === 0) return nothing;
  return html`<section class="notice warn" aria-label="Needs attention"><ul>${lines.map((line) => html`<li>${line}</li>`)}</ul></section>
`;
}

function isRefused({ lastRequest }: CredentialStatus): boolean {
  return lastRequest?.result === "refused";
}

function describeRefused({ environment, credential, token }: CredentialStatus): Html {
  const rest = token === "none" ? "It has no token." : "It still has a token.";
  return html`<a href="#tokens">The login host refuses <code>${credential}</code></a> of ${environment}. ${rest}`;
}

function describeAway({ node, since, failure }: RedisStatus, now: string): Html {
  const away = since === undefined ? "" : ` since ${describeAge(since, now).replace(" ago", "")}`;
  return html`<a href="#redis">Redis <code>${node}</code> is away</a>${away} (${failure ?? "other"}). Every replica keeps its own tokens; no request fails.`;
}
