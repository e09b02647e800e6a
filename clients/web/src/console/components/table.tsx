/** A table with a caption; where it is wider than the page, it alone can be moved sideways. */

import type { ComponentChildren } from "preact";

export interface Column<Row> {
  title: string;
  cell: (row: Row) => ComponentChildren;
  /** Figures stand at the right. */
  number?: boolean;
}

interface Props<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string | number;
  /** Whether the caption is only for those who cannot see the table. */
  quiet?: boolean;
}

export function Table<Row>({ caption, columns, rows, keyOf, quiet }: Props<Row>) {
  return (
    <div class="sideways" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption class={quiet ? "hidden" : ""}>{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={column.number ? "number-cell" : ""}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.title} class={column.number ? "number-cell" : ""}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
