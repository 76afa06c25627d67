import { exampleSites } from "../../simulator/src/example-sites.ts";

/** The amount of the orders that tests make; no other amount is likely to be equal. */
export const canaryAmount = "7351427.35";

/**
 * Texts that must never come out, each with the name under which a sighting is reported: the value itself is never reported.
 * Secrets, customers and e-mail addresses of the tests contain the word "canary", whole or not; so one mark finds them all.
 */
const marks: readonly (readonly [name: string, text: string])[] = [
  ["a made-up secret or value", "canary"],
  ["the encryption key", Buffer.from("0123456789abcdef", "hex").toString("latin1")],
  ["the amount of an order", canaryAmount],
  ...exampleSites.flatMap(({ credentials = [], keys = [] }) => [
    ...credentials.map(({ clientSecret }) => ["a client secret of the demo", clientSecret] as const),
    ...keys.map(({ secret }) => ["an API secret key of the demo", secret] as const),
  ]),
];

/** Searched for one by one: that takes a tenth of the time of one regular expression for all. */
const needles = marks.flatMap(([name, text]) => formsOf(text).map((needle) => ({ name, needle })));

/** The simulator calls its tokens token_1, token_2, …; in an encoded form the part "token_" is enough. */
const tokenNeedles = formsOf("token_").slice(1);

/** The names of the canaries found in a text, in any of their forms. Signatures and keys are recognised as 64 hexadecimal digits. */
export function canariesIn(text: string): ReadonlySet<string> {
  const found = new Set(needles.filter(({ needle }) => text.includes(needle)).map(({ name }) => name));
  const isToken = text.includes("token_") && /\btoken_\d/.test(text);
  if (isToken || tokenNeedles.some((needle) => text.includes(needle))) found.add("a token");
  if (/(?<![0-9a-fA-F])(?:[0-9a-f]{64}|[0-9A-F]{64})(?![0-9a-fA-F])/.test(text)) found.add("a signature or a key");
  return found;
}

/** A text unchanged, URL-encoded, JSON-escaped, in hexadecimal digits and in base64 (also base64url). */
export function formsOf(text: string): string[] {
  const bytes = Buffer.from(text, "latin1");
  const isPlain = /^[\x20-\x7e]+$/.test(text);
  const written = isPlain ? [text, encodeURIComponent(text), JSON.stringify(text).slice(1, -1)] : [];
  const hex = bytes.toString("hex");
  const cores = base64Cores(text);
  const urlSafe = cores.map((core) => core.replaceAll("+", "-").replaceAll("/", "_"));
  return [...new Set([...written, hex, hex.toUpperCase(), ...cores, ...urlSafe])];
}

/** The base64 of a text within a longer text, for each of the three offsets at which it can begin. */
function base64Cores(text: string): string[] {
  const bytes = Buffer.from(text, "latin1");
  return [0, 1, 2].map((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]);
    const firstOwn = Math.ceil((before * 8) / 6);
    return whole.toString("base64").slice(firstOwn, Math.floor((whole.length * 8) / 6));
  });
}
