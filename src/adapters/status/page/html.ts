/** Text that is HTML already. Everything else is escaped where it is put into a page. */
export class Html {
  readonly text: string;

  /** @param text nothing foreign: what this file does not escape, nothing does */
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

/** A part of the page; links lead to its id. */
export function section(id: string, title: string, content: Html): Html {
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>
${content}</section>
`;
}

/** Content that is hidden until the reader opens it. */
export function folded(summary: Html, content: Html): Html {
  return html`<details><summary>${summary}</summary>
${content}</details>
`;
}

export function list(items: readonly Html[]): Html {
  return html`<ul>${items.map((item) => html`<li>${item}</li>`)}</ul>`;
}

/** Names and what there is to say about them. */
export function definitions(entries: readonly (readonly [name: string, value: Html])[]): Html {
  const shown = entries.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`);
  return html`<dl>${shown}</dl>
`;
}

/** Words for what is not there, quieter than what is. */
export function quiet(words: string | number): Html {
  return html`<span class="soft">${words}</span>`;
}

/** `1,234`. */
export function showCount(count: number): string {
  return count.toLocaleString("en-GB");
}

/** A name; in a table, a long one may break anywhere, so that no name makes the page wider than the screen. */
export function showName(name: string): Html {
  return html`<code>${breakable(name)}</code>`;
}

const longestWhole = 24;

function breakable(text: string): Html {
  return text.length > longestWhole ? html`<span class="long">${text}</span>` : html`${text}`;
}

/** Which environment and which of its sites. */
export function showPlace(environment: string, site: string | undefined): Html {
  return html`${breakable(environment)} ${site === undefined ? quiet("no site known") : showName(site)}`;
}

/** A sentence in which names stand between backticks. */
export function showSentence(text: string): Html {
  return html`${text.split("`").map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}`;
}
