import { describeDuration } from "../../../model/clock.ts";
import { addressOfPage } from "../../../model/documents.ts";

/** Text that is HTML already. Any other text is escaped when it is put into a page. */
export class Html {
  readonly text: string;

  /** @param text must hold nothing foreign: it is not escaped any more */
  constructor(text: string) {
    this.text = text;
  }
}

export const nothing = new Html("");

type Part = Html | string | number | readonly Html[];

/**
 * Makes HTML of a template. Inserted values are escaped, for contents and for quoted attributes alike, unless they are `Html`
 * already.
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

/**
 * A part of the page; links lead to its id. On a narrow screen it is folded (style.ts).
 * @param weight `light` for what is read last
 */
export function section(id: string, title: string, content: Html, weight: "full" | "light" = "full"): Html {
  return html`<section class="${weight}" aria-labelledby="${id}"><details class="part"><summary><h2 id="${id}">${title}</h2></summary>
${content}</details></section>
`;
}

/** Content that is hidden until the reader opens it. */
export function folded(summary: Html, content: Html): Html {
  return html`<details><summary>${summary}</summary>
${content}</details>
`;
}

/** How many a list names: all would push everything else out of sight. */
export const mostNamed = 3;

/** A line for each item that is not empty; nothing if all are. */
export function list(items: readonly Html[]): Html {
  const shown = items.filter((item) => item !== nothing);
  return shown.length === 0 ? nothing : html`<ul>${shown.map((item) => html`<li>${item}</li>`)}</ul>`;
}

/** Names and their values; a name without a value is left out. */
export function definitions(entries: readonly (readonly [name: string, value: Html | undefined])[]): Html {
  const shown = entries.map(([name, value]) =>
    value === undefined ? nothing : html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  );
  return html`<dl>${shown}</dl>
`;
}

/** A link to a page of docs/, such as `alerts/CountersignRedisDown.md`. */
export function help(page: string, docsUrl: string | undefined): Html {
  return html`<a href="${addressOfPage(page, docsUrl)}">what to do</a>`;
}

/** Words that are less important, such as those for a missing value. */
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

/** An environment and one of its sites. */
export function showPlace(environment: string, site: string | undefined): Html {
  return html`${breakable(environment)} ${site === undefined ? quiet("no site known") : showName(site)}`;
}

/** A sentence whose names are between backticks. */
export function showSentence(text: string): Html {
  return html`${text.split("`").map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}`;
}

/** A column's title, and its content for a row. Numbers are aligned to the right. */
export type Column<Row> = readonly [title: string, show: (row: Row) => Html | string | number, kind?: "number"];

/** Further rows are folded: a gateway may have a thousand sites, and a phone shows few. */
export const shownRows = 8;

/** A table of the first rows, and the others folded below it. The first cell of a row is its heading. */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  shown = shownRows,
): Html {
  const first = unfolded(caption, columns, rows.slice(0, shown));
  const showOthers = (others: readonly Row[]) => unfolded(`${caption}, continued`, columns, others);
  return html`${first}${foldRest(rows.slice(shown), "more", showOthers)}`;
}

/** The most items of one kind on a page: thousands would take a browser seconds, and the process time that orders need. */
const mostListed = 1_000;

/** The items that are not shown at once: folded, and beyond a thousand left to /status. */
export function foldRest<Item>(items: readonly Item[], what: string, show: (items: readonly Item[]) => Html): Html {
  if (items.length === 0) return nothing;
  const unlisted = items.length - mostListed;
  const rest = html`<p class="soft"><a href="/status">/status</a> has ${showCount(unlisted)} more.</p>
`;
  const listed = html`${show(items.slice(0, mostListed))}${unlisted > 0 ? rest : nothing}`;
  return folded(html`${showCount(items.length)} ${what}`, listed);
}

/**
 * The table becomes a list of cards on a narrow screen. The roles are written out, since some browsers forget them when style
 * makes blocks of rows and cells.
 */
function unfolded<Row>(caption: string, columns: readonly Column<Row>[], rows: readonly Row[]): Html {
  const styleOf = (kind: Column<Row>[2]) => (kind === undefined ? nothing : html` class="${kind}"`);
  const titles = columns.map(
    ([title, , kind]) => html`<th role="columnheader" scope="col"${styleOf(kind)}>${title}</th>`,
  );
  const body = rows.map((row) => {
    const cells = columns.map(([title, show, kind], index) => {
      const content = html` data-title="${title}"${styleOf(kind)}><div>${showCell(show(row))}</div>`;
      return index === 0 ? html`<th role="rowheader" scope="row"${content}</th>` : html`<td role="cell"${content}</td>`;
    });
    return html`<tr role="row">${cells}</tr>
`;
  });
  return html`<table role="table"><caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${titles}</tr></thead>
<tbody role="rowgroup">${body}</tbody></table>
`;
}

/** 0 says little, so it is shown in a softer colour. */
function showCell(content: Html | string | number): Html | string {
  return typeof content === "number" ? (content === 0 ? quiet(0) : showCount(content)) : content;
}

/** `3 min`: from a moment until now. */
export function describeSpan(since: string, now: string): string {
  return describeDuration(Math.max(0, Date.parse(now) - Date.parse(since)));
}

/** `3 min ago`, `in 10 s`, `just now`. */
export function describeAge(at: string, now: string): string {
  const ms = Date.parse(now) - Date.parse(at);
  if (Math.abs(ms) < 1_000) return "just now";
  return ms > 0 ? `${describeDuration(ms)} ago` : `in ${describeDuration(-ms)}`;
}

/** A moment as in the log, but to the second. */
export function showMoment(at: string): Html {
  return html`<time datetime="${at}">${at.replace(/\.\d+Z$/, "Z")}</time>`;
}

/** A moment, and how long ago it is; `never` if there is none. */
export function showTime(at: string | undefined, now: string, never = "never"): Html {
  if (at === undefined) return quiet(never);
  return html`<span class="when">${showMoment(at)} <span class="age">${describeAge(at, now)}</span></span>`;
}

/** The form of a noun or verb for a count. */
export function plural(count: number, one: string, many: string): string {
  return count === 1 ? one : many;
}
