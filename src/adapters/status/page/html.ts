/** Text that is HTML already. Everything else is escaped where it is put into a page. */
export class Html {
  readonly text: string;

  /** @param text nothing foreign: what this file does not escape, nobody does */
  constructor(text: string) {
    this.text = text;
  }
}

export const nothing = new Html("");

type Part = Html | string | number | readonly Html[];

/**
 * Makes HTML of a template; what is put in is escaped, for contents and for quoted attributes alike, unless it was made
 * here itself.
 */
export function html(template: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(String.raw({ raw: template }, ...parts.map(render)));
}

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  return typeof part === "object" ? part.map(({ text }) => text).join("") : escapeHtml(String(part));
}

const references: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => references[character] ?? "");
}
