import { folded, type Html, html, showCount } from "./html.ts";

/** A column's title; an object for a column of numbers. */
export type Column = string | { readonly number: string };

/**
 * A table that becomes a list of cards on a narrow screen. The roles are written out, since some browsers forget them
 * when style makes blocks of rows and cells.
 * @param rows a cell for each column; the first is the row's heading
 */
export function table(caption: string, columns: readonly Column[], rows: readonly (readonly Html[])[]): Html {
  const heads = columns.map(describeColumn);
  const titles = heads.map(({ title, style }) => html`<th role="columnheader" scope="col"${style}>${title}</th>`);
  const body = rows.map((cells) => {
    const shown = heads.map(({ title, style }, index) => {
      const attributes = html` data-title="${title}"${style}><div>${cells[index] ?? ""}</div>`;
      return index === 0
        ? html`<th role="rowheader" scope="row"${attributes}</th>`
        : html`<td role="cell"${attributes}</td>`;
    });
    return html`<tr role="row">${shown}</tr>
`;
  });
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
  return html`${first}${folded(html`${showCount(others.length)} more`, table(`${caption}, continued`, columns, others))}`;
}

function describeColumn(column: Column): { readonly title: string; readonly style: Html } {
  return typeof column === "string"
    ? { title: column, style: html`` }
    : { title: column.number, style: html` class="number"` };
}
