/**
 * The body that is sent: the very strings that were signed, in their order (spec 2.1). It is written from the pairs, never
 * from an object, so neither `__proto__` nor a name that looks like an integer can change it.
 */
export function serialise(parameters: Iterable<readonly [name: string, value: string]>): Uint8Array {
  const members = Array.from(parameters, ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return Buffer.from(`{${members.join(",")}}`, "utf8");
}
