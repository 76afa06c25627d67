import { paint } from "countersign/cli/terminal";
import type { Line, Mark } from "./upstream-request.ts";

/** The parts of a line: a label, a mark, and the text. */
const indent = 3;
const labelWidth = 8;
const markWidth = 2;
const contentAt = indent + labelWidth + markWidth;

const signs: Readonly<Record<Mark, string>> = { kept: " ", added: "+", rewritten: "~" };

/** The columns of the terminal, but at least 60 and at most 100. */
export function chooseWidth(columns: number | undefined): number {
  return Math.min(Math.max(columns ?? 80, 60), 100);
}

/** A text with a label; a long text continues on the next lines. */
export function formatLabelled(label: string, text: string, width: number): string[] {
  return wrap(text, width - contentAt).map((part, index) => {
    const shown = paint("dim", (index === 0 ? label : "").padEnd(labelWidth));
    return `${" ".repeat(indent)}${shown}${" ".repeat(markWidth)}${part}`;
  });
}

/** Names and values in two columns, each line with its mark. A long text continues on the next line; a long word is cut with an ellipsis. */
export function formatLines(lines: readonly Line[], nameWidth: number, width: number): string[] {
  const valueWidth = width - contentAt - nameWidth - 2;
  return lines.flatMap(({ name, value, mark }) =>
    wrap(value, valueWidth).map((part, index) => {
      const sign = (index === 0 ? signs[mark] : "").padEnd(markWidth);
      const text = `${sign}${(index === 0 ? name : "").padEnd(nameWidth)}  ${part}`;
      return `${" ".repeat(indent + labelWidth)}${emphasise(mark, text)}`;
    }),
  );
}

function emphasise(mark: Mark, text: string): string {
  if (mark === "added") return paint("green", text);
  return mark === "rewritten" ? paint("yellow", text) : text;
}

/** Breaks at spaces; a word that is too long is cut. */
export function wrap(text: string, width: number): string[] {
  const parts: string[] = [];
  let part = "";
  for (const word of text.split(" ")) {
    const longer = part === "" ? word : `${part} ${word}`;
    if (longer.length <= width || part === "") part = shorten(longer, width);
    else {
      parts.push(part);
      part = shorten(word, width);
    }
  }
  return [...parts, part];
}

function shorten(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

/** `0.4 ms`; a shorter time than 0.05 ms is `under 0.1 ms`. */
export function formatMs(ms: number): string {
  return ms < 0.05 ? "under 0.1 ms" : `${ms.toFixed(1)} ms`;
}
