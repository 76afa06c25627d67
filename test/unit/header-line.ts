/** A name and a value as they are sent. */
export type HeaderLine = readonly [name: string, value: string];
