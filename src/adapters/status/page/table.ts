import { type Html, html } from "./html.ts";
import { showCount } from "./prose.ts";

export interface Column {
  readonly title: string;
  readonly isNumber?: boolean;
}

/**
 * A table that becomes a list of cards on a narrow screen. The roles are written out, since some browsers forget them
 * when style makes blocks of rows and cells.
 * @param rows a cell for each column; the first is the row's heading
 */
export function table(caption: string, columns: readonly Column[], rows: readonly (readonly Html[])[]): Html {
  const titles = columns.map(
    ({ title, isNumber }) =>
      html`<th role="columnheader" scope="col"${isNumber ? numberClass : plainClass}>${title}</th>`,
  );
  const body = rows.map(
    (cells) => html`<tr role="row">${cells.map((cell, index) => showCell(cell, columns[index], index === 0))}</tr>
`,
  );
  return html`<table role="table"><caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${titles}</tr></thead>
<tbody role="rowgroup">${body}</tbody></table>
`;
}

/** Of more rows, the rest is folded: a gateway may have a thousand sites. */
export const shownRows = 20;

/** A table of the first rows, and the others folded below it. */
export function foldedTable(caption: string, columns: readonly Column[], rows: readonly (readonly Html[])[]): Html {
  const others = rows.slice(shownRows);
  const first = table(caption, columns, rows.slice(0, shownRows));
  if (others.length === 0) return first;
  return html`${first}<details><summary>${showCount(others.length)} more</summary>
${table(`${caption}, continued`, columns, others)}</details>
`;
}

const numberClass = html` class="number"`;
const plainClass = html``;

function showCell(cell: Html, column: Column | undefined, isHeading: boolean): Html {
  const title = column?.title ?? "";
  const style = column?.isNumber ? numberClass : plainClass;
  if (isHeading) return html`<th role="rowheader" scope="row" data-title="${title}"${style}><div>${cell}</div></th>`;
  return html`<td role="cell" data-title="${title}"${style}><div>${cell}</div></td>`;
}
