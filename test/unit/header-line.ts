/** A name and a value as they are sent. */
export type HeaderLine = readonly [name: string, value: string];

/** Lines as they are written: `Name: value`. */
export function lines(...written: readonly string[]): HeaderLine[] {
  return written.map((line) => line.split(/: (.*)/s, 2) as [string, string]);
}
