/** The name and the value of a header line, as sent. */
export type HeaderLine = readonly [name: string, value: string];

/** Header lines from texts of the form `Name: value`. */
export function lines(...written: readonly string[]): HeaderLine[] {
  return written.map((line) => line.split(/: (.*)/s, 2) as [string, string]);
}
