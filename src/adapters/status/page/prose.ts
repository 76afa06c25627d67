import { type Html, html } from "./html.ts";

const longestWhole = 24;

/** `1,234`. */
export function showCount(count: number): string {
  return count.toLocaleString("en-GB");
}

/** A name; in a table, a long one may break anywhere, so that no name makes the page wider than the screen. */
export function showName(name: string): Html {
  return html`<code>${breakable(name)}</code>`;
}

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

/** Words for what is not there, quieter than what is. */
export function quiet(words: string | number): Html {
  return html`<span class="soft">${words}</span>`;
}
