import { type HeaderLines, one, valuesOf } from "./headers.ts";

/** A span's place in its trace, as `traceparent` carries it (W3C Trace Context, section 3.2). */
export interface SpanContext {
  /** 32 hex digits, not all zero. */
  readonly traceId: string;
  /** 16 hex digits, not all zero. */
  readonly spanId: string;
  /** Whether the trace is recorded. */
  readonly isSampled: boolean;
}

/** Later versions may append fields to those of version 00. */
const traceParentForm = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const allZero = /^0+$/;
const sampledFlag = 1;

/** The caller's span; undefined if `traceparent` is absent, repeated or malformed. */
export function readTraceParent(headers: HeaderLines): SpanContext | undefined {
  const value = one(headers, "traceparent");
  if (value === undefined) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", more] = traceParentForm.exec(value) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (allZero.test(traceId) || allZero.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & sampledFlag) !== 0 };
}

/** In version 00, with the only flag that this version defines. */
export function formatTraceParent({ traceId, spanId, isSampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-0${isSampled ? sampledFlag : 0}`;
}

/** Every participant must accept this length; a longer list may be left out (W3C Trace Context, section 3.3). */
const longestTraceState = 512;
const mostMembers = 32;
const memberKey = /^(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})$/;
const memberValue = /^[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** The list of vendors' own entries; undefined if it is absent, too long or malformed. */
export function readTraceState(headers: HeaderLines): string | undefined {
  const text = valuesOf(headers, "tracestate").join(",");
  if (text.length > longestTraceState) return undefined;
  const members = text
    .split(",")
    .map((member) => member.trim())
    .filter((member) => member !== "");
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf("="))));
  const isSound = members.every(isMember) && keys.size === members.length && members.length <= mostMembers;
  return isSound && members.length > 0 ? members.join(",") : undefined;
}

function isMember(member: string): boolean {
  const split = member.indexOf("=");
  return split > 0 && memberKey.test(member.slice(0, split)) && memberValue.test(member.slice(split + 1));
}
