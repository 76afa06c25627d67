import { type Html, html } from "./html.ts";

/** Names and what there is to say about them. */
export function facts(entries: readonly (readonly [name: string, value: Html])[]): Html {
  const shown = entries.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`);
  return html`<dl>${shown}</dl>
`;
}
