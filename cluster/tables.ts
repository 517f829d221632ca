/**
 * Listings as kubectl prints them: the API server itself prints the cells (`as=Table`), so columns and wording are its own.
 */
import type { Api } from "./api.ts";

interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
  readonly rows: readonly { readonly cells: readonly unknown[] }[];
}

const ACCEPT = "application/json;as=Table;g=meta.k8s.io;v=v1";

/**
 * @param wide also the columns that `kubectl get -o wide` adds
 * @returns lines without a line end; the first is the header
 */
export async function printTable(api: Api, path: string, wide: boolean): Promise<string[]> {
  const table = await api.get<Table>(path, { accept: ACCEPT });
  const columns = table.columnDefinitions
    .map((column, index) => ({ name: column.name.toUpperCase(), index, priority: column.priority }))
    .filter((column) => wide || column.priority === 0);
  const rows = [
    columns.map((column) => column.name),
    ...table.rows.map((row) => columns.map((column) => cell(row.cells[column.index]))),
  ];
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((text, index) => text.padEnd(widths[index] ?? 0))
      .join("   ")
      .trimEnd(),
  );
}

function cell(value: unknown): string {
  if (value === null || value === undefined || value === "") return "<none>";
  return typeof value === "string" ? value : JSON.stringify(value);
}
