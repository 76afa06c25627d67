import { escapeControls } from "./terminal.ts";

/**
 * A line of the log for a person at a terminal, where `serve` prints this in place of JSON: time, level and message, for a
 * request that failed its reference or id, and below them the texts that are lists (`routes`, `problems`) and its own addresses.
 * @param json with its line end, as everything here
 */
export function formatForPeople(json: string): string {
  const { time, level, message, ...fields } = JSON.parse(json);
  const texts = Object.values(fields).flatMap((value) => (Array.isArray(value) ? value : []));
  const lines = [
    `${String(time).slice(11, 19)}  ${level}  ${message}${orderOf(level, fields)}`,
    ...[...texts, ...addressesOf(fields)].map((text) => `    ${text}`),
  ];
  return `${lines.map(escapeLine).join("\n")}\n`;
}

/** What leads to the order of a request that failed. */
function orderOf(level: string, { event, reference, requestId }: Record<string, unknown>): string {
  if (event !== "request_finished" || level === "info") return "";
  return reference === undefined ? `; request ${requestId}` : `; reference ${reference}`;
}

/** Where a person finds the pages of this process. */
function addressesOf({ event, adminBind, statusBind }: Record<string, unknown>): readonly string[] {
  if (event !== "started") return [];
  const page = statusBind === undefined ? [] : [`status page ${urlOf(String(statusBind))}`];
  return [...page, `admin ${urlOf(String(adminBind))} (/livez, /readyz, /metrics)`];
}

/** A server that listens on every address listens on loopback too. */
function urlOf(bind: string): string {
  return bind.startsWith("unix:")
    ? bind
    : `http://${bind.replace(/^(0\.0\.0\.0)?:(?=\d+$)/, "127.0.0.1:").replace("[::]", "[::1]")}/`;
}

function escapeLine(text: string): string {
  return escapeControls(text.replaceAll("\n", " "));
}
