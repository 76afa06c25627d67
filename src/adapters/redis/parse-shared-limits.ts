import {
  type HeardPause,
  longestTryList,
  quietConduct,
  type SharedLimits,
  type SharedTry,
} from "../../oauth/shared-limits.ts";
import { aheadMs } from "./shared-limits.lua.ts";

type Fields = Record<string, unknown>;

/** No authorization server is believed for longer (spec 8, Retry-After). */
const longestPauseMs = 86_400_000;
const longestSitePauseMs = 900_000;
const longestDocumentChars = 65_536;

/**
 * Reads the shared conduct document (see conduct.lua.ts), strictly and within bounds; what is damaged says nothing.
 * @param nowMs Redis's clock
 */
export function parseConduct(text: string, nowMs: number): SharedLimits {
  const document = text.length > longestDocumentChars ? undefined : parseObject(text);
  if (document === undefined) return quietConduct;
  return {
    login: parseLogin(document["login"], nowMs),
    sites: new Map(
      entriesOf(document["sites"]).flatMap(([site, { pauseMs, untilMs }]) => {
        if (!isAmount(pauseMs) || !isAmount(untilMs) || pauseMs > longestSitePauseMs) return [];
        if (untilMs - pauseMs > nowMs + aheadMs) return [];
        return [[site, { pauseMs, remainingMs: clamp(untilMs - nowMs, longestSitePauseMs) }]];
      }),
    ),
    tries: entriesOf(document["tries"])
      .flatMap(([name, { useless, cured, accepted, doubted, atMs }]): SharedTry[] => {
        const [token, site] = name.split(" ");
        if (!token || !site || typeof useless !== "boolean" || !isAmount(atMs) || atMs > nowMs + aheadMs) return [];
        const isAccepted = accepted === true;
        const fate = cured === true ? "cured" : useless ? "useless" : isAccepted ? "accepted" : "open";
        return [{ token, site, fate, isAccepted, isDoubted: doubted === true, ageMs: Math.max(0, nowMs - atMs) }];
      })
      .sort((one, other) => other.ageMs - one.ageMs)
      .slice(-longestTryList),
  };
}

function parseLogin(value: unknown, nowMs: number): HeardPause | undefined {
  if (!isObject(value)) return undefined;
  const { kind, status, failures, way, atMs, untilMs } = value;
  if (kind !== "refused" && kind !== "throttled" && kind !== "failing") return undefined;
  if (!isAmount(failures) || !isAmount(untilMs) || untilMs <= nowMs) return undefined;
  // Redis's clock has stepped back, or this is another server: nobody knows how long the pause still is.
  if (!isAmount(atMs) || atMs > nowMs + aheadMs) return undefined;
  const isStatus = typeof status === "number" && status >= 100 && status <= 599;
  const remainingMs = clamp(untilMs - nowMs, longestPauseMs);
  return {
    kind,
    status: isStatus ? status : undefined,
    failures: Math.min(failures, 64),
    remainingMs,
    ...(typeof way === "string" && /^[0-9a-f]{1,64}$/.test(way) ? { way } : {}),
    ageMs: Math.max(0, nowMs - atMs),
  };
}

function parseObject(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function entriesOf(value: unknown): [string, Fields][] {
  return isObject(value) ? Object.entries(value).filter((entry): entry is [string, Fields] => isObject(entry[1])) : [];
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function clamp(ms: number, longestMs: number): number {
  return Math.min(Math.max(0, ms), longestMs);
}
