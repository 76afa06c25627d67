import {
  type EndpointPause,
  endpointPauseKinds,
  factMemoryMs,
  type LimitsSnapshot,
  longestSitePauseMs,
  type RefreshFact,
  refreshFactKinds,
  type SharedEndpointPause,
  sitePauseMemoryMs,
} from "../../oauth/shared-limits.ts";
import { aheadMs } from "./scripts.ts";

/** No authorization server is believed for longer (spec 8, Retry-After). */
const longestPauseMs = 86_400_000;
const mostFailures = 64;

/** `<kind> <status or -> <failures> <transport or -> <whole duration in ms>`. */
const endpointForm = new RegExp(
  `^(${endpointPauseKinds.join("|")}) (-|\\d{1,9}) (\\d{1,15}) (-|[0-9a-f]{1,64}) (\\d{1,15})$`,
);
const factForm = new RegExp(`^(${refreshFactKinds.join("|")}) ([\\w.-]{1,64}) ([\\w.-]{1,64})$`);
const pauseForm = /^([\w.-]{1,64}) (\d{1,6})$/;

/** @param ms the whole duration, an integer */
export function formatEndpointPause({ kind, status, failures, transport }: EndpointPause, ms: number): string {
  return `${kind} ${status ?? "-"} ${failures} ${transport ?? "-"} ${ms}`;
}

/** What the read script returns of the limits. */
export interface LimitsReply {
  /** Redis's clock. */
  readonly nowMs: number;
  readonly endpoint: unknown;
  readonly endpointLeftMs: unknown;
  readonly facts: unknown;
  readonly pauses: unknown;
}

/** Reads what replicas share, strictly and within bounds; what is damaged, or of another clock, says nothing. */
export function parseLimits({ nowMs, endpoint, endpointLeftMs, facts, pauses }: LimitsReply): LimitsSnapshot {
  return {
    endpoint: parseEndpoint(endpoint, endpointLeftMs),
    sites: new Map(
      membersOf(pauses).flatMap(([member, untilMs]) => {
        const [, site = "", pause] = pauseForm.exec(member) ?? [];
        const pauseMs = Number(pause);
        const isPast = untilMs - pauseMs <= nowMs + aheadMs && untilMs + sitePauseMemoryMs > nowMs;
        if (!isPast || pauseMs > longestSitePauseMs) return [];
        return [[site, { pauseMs, remainingMs: clamp(untilMs - nowMs, pauseMs) }]];
      }),
    ),
    facts: membersOf(facts).flatMap(([member, atMs]): RefreshFact[] => {
      const [, name, token = "", site = ""] = factForm.exec(member) ?? [];
      const kind = refreshFactKinds.find((known) => known === name);
      const ageMs = nowMs - atMs;
      if (kind === undefined || !(ageMs >= -aheadMs && ageMs < factMemoryMs)) return [];
      return [{ kind, token, site, ageMs: Math.max(0, ageMs) }];
    }),
  };
}

function parseEndpoint(text: unknown, leftMs: unknown): SharedEndpointPause | undefined {
  const [, name, status, failures, transport = "-", whole] =
    typeof text === "string" ? (endpointForm.exec(text) ?? []) : [];
  const kind = endpointPauseKinds.find((known) => known === name);
  // More is left than the whole: Redis's clock has stepped back, or this is another server.
  if (kind === undefined || typeof leftMs !== "number" || leftMs <= 0 || leftMs > Number(whole) + aheadMs)
    return undefined;
  return {
    kind,
    status: Number(status) >= 100 && Number(status) <= 599 ? Number(status) : undefined,
    failures: Math.min(Number(failures), mostFailures),
    remainingMs: Math.min(leftMs, Number(whole), longestPauseMs),
    ...(transport === "-" ? {} : { transport }),
    ageMs: Math.max(0, Number(whole) - leftMs),
  };
}

/** Members and scores of a sorted set, as Redis lists them. */
function membersOf(list: unknown): readonly (readonly [member: string, score: number])[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((member, index) => {
    return index % 2 === 0 && typeof member === "string" ? [[member, Number(list[index + 1])] as const] : [];
  });
}

function clamp(ms: number, longestMs: number): number {
  return Math.min(Math.max(0, ms), longestMs);
}
