/** `skipped`: there is nothing to look at, or what it rests on has failed. */
export type Verdict = "ok" | "warn" | "fail" | "skipped";

export type Topic = "config" | "dns" | "tls" | "clock" | "token" | "redis" | "serve";

/** What an examination found. Foreign text in it has been through `printable`. */
export interface Finding {
  readonly verdict: Verdict;
  /** What is so, as a clause. */
  readonly detail: string;
  /** What to do about it; always there with `warn` and `fail`. */
  readonly fix?: string;
}

/** One line of the doctor's answer. */
export interface Check extends Finding {
  readonly topic: Topic;
  /** Absent where it concerns all of them. */
  readonly environment?: string;
  /** What was looked at: a host, a credential set, a server. */
  readonly subject: string;
  /** What it took; 0 where nothing had to be waited for. */
  readonly tookMs: number;
}

export function ok(detail: string): Finding {
  return { verdict: "ok", detail };
}

export function warn(detail: string, fix: string): Finding {
  return { verdict: "warn", detail, fix };
}

export function fail(detail: string, fix: string): Finding {
  return { verdict: "fail", detail, fix };
}

export function skip(detail: string): Finding {
  return { verdict: "skipped", detail };
}

const longestShown = 80;

/** Foreign text for a terminal: one line, no control characters, not too long. */
export function printable(text: string): string {
  const line = text.replace(/[^\x20-\x7e\u00a1-\u024f]+/g, " ").trim();
  return line.length <= longestShown ? line : `${line.slice(0, longestShown - 1)}…`;
}

/** A code such as ECONNREFUSED or CERT_HAS_EXPIRED, and nothing else that an error says: its message may quote secrets. */
export function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? code : "UNKNOWN";
}

/** `45 s`, `12 min`, `23 h`, `340 days`: the largest unit of which there are two, rounded down. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds >= 2 * 86_400) return `${Math.floor(seconds / 86_400)} days`;
  if (seconds >= 2 * 3_600) return `${Math.floor(seconds / 3_600)} h`;
  return seconds >= 120 ? `${Math.floor(seconds / 60)} min` : `${seconds} s`;
}
