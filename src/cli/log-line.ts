import { escapeControls } from "./terminal.ts";

/**
 * A line of the log for a person at a terminal, where `serve` prints this in place of JSON: time, level and message, for a
 * request that failed its reference or id, and below them the texts that are lists (`routes`, `problems`).
 * @param json with its line end, as everything here
 */
export function formatForPeople(json: string): string {
  const { time, level, message, ...fields } = JSON.parse(json);
  const texts = Object.values(fields).flatMap((value) => (Array.isArray(value) ? value : []));
  const lines = [
    `${String(time).slice(11, 19)}  ${level}  ${message}${orderOf(level, fields)}`,
    ...texts.map((text) => `    ${text}`),
  ];
  return `${lines.map(escapeLine).join("\n")}\n`;
}

/** What leads to the order of a request that failed. */
function orderOf(level: string, { event, reference, requestId }: Record<string, unknown>): string {
  if (event !== "request_finished" || level === "info") return "";
  return reference === undefined ? `; request ${requestId}` : `; reference ${reference}`;
}

function escapeLine(text: string): string {
  return escapeControls(text.replaceAll("\n", " "));
}
