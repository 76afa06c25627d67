/** How parameters are written and signed (spec 5.2). */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { SigningKey } from "../model/environment.ts";
import type { Secret } from "../model/secret.ts";

/** A parameter as it is signed and sent: its value is a string (spec 2.1). */
export interface NamedValue {
  readonly name: string;
  readonly value: string;
}

export interface SentParameter extends NamedValue {
  /** Whether the value is known to need no escape between the quotes of a JSON string. */
  readonly isPlain: boolean;
}

/**
 * The order in which parameters are signed (spec 5.2 step 3): by code units, which are bytes here, since names are ASCII.
 * Never `localeCompare`: its order is a language's, with `a` before `B`. `<` gives the same order, but is slow for
 * names that are slices of a body.
 */
export function compareNames({ name: one }: NamedValue, { name: other }: NamedValue): number {
  const shorter = Math.min(one.length, other.length);
  for (let at = 0; at < shorter; at += 1) {
    const difference = one.charCodeAt(at) - other.charCodeAt(at);
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** Parameters that must be present and signed (spec 5.2 step 2). */
export const requiredNames = ["version", "site_identifier", "timestamp"] as const;

/** Parameters that are not signed, unless a site is configured otherwise (spec 5.2 step 1). */
export const defaultExempt = ["format", "signature", "call"] as const;

/** The names that are not signed. `signature` is always one of them: it cannot sign itself. */
export function exemptNames(names: Iterable<string>): ReadonlySet<string> {
  return new Set([...names, "signature"]);
}

/**
 * Whether the value is an amount, with two digits after the point (spec 5.2 rule 2).
 * @param more names beside `*_amount`
 */
export function isDecimal(name: string, more: ReadonlySet<string>): boolean {
  return name.endsWith("_amount") || more.has(name);
}

/**
 * The allowed names of parameters. Different parameters can have the same string to sign (`{foo:"bar1"}` and
 * `{foobar:"1"}`, spec 5.2 step 4), so unusual names are refused. The specification limits no length (spec 8).
 */
export const allowedName = /^[A-Za-z0-9_.-]{1,256}$/;

const forbidden = /[^A-Za-z0-9._-]/;

/**
 * Finds the first signed value with a character other than letters, digits, hyphen, underscore and period (spec 5.2 rule
 * 3; ASCII, an empty value is fine). Separate from the signer on purpose: existing clients of this service sign spaces
 * and e-mail addresses, so the caller of this function decides whether such a character matters.
 * @param exempt names that are not signed
 * @returns the parameter's name, and the character's position in its value, counted from 1
 */
export function findForbiddenCharacter(
  parameters: readonly NamedValue[],
  exempt: ReadonlySet<string>,
): { readonly name: string; readonly position: number } | undefined {
  for (const { name, value } of parameters) {
    const index = exempt.has(name) ? -1 : value.search(forbidden);
    if (index >= 0) return { name, position: index + 1 };
  }
  return undefined;
}

const mostDigits = 64;

/** Whole, fraction and exponent of a number (RFC 8259 section 6). */
const number = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** A number that stays unchanged: no exponent, no minus (a zero loses it), at most 64 digits. */
const writtenOut = /^(?:0|[1-9]\d{0,31})(?:\.\d{1,32})?$/;
const decimal = /^(-?(?:0|[1-9]\d*))(?:\.(\d+))?$/;

/**
 * Writes a JSON number without its exponent, exactly, and as text only: every digit of the fraction stays, so `1.50e1`
 * is `15.0` and `1.0` is `1.0`. Leading zeros are removed, and the minus of a zero. The length is checked before the text
 * is built: 1e999999999 uses no memory.
 * @returns undefined when the result would have more than 64 digits, or the text is not a JSON number
 */
export function expandNumber(text: string): string | undefined {
  if (writtenOut.test(text)) return text;
  const parts = number.exec(text);
  if (parts === null) return undefined;
  const [, minus = "", whole = "", fraction = "", exponent = "0"] = parts;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent); // ±Infinity for an exponent of hundreds of digits
  const significant = digits.replace(/^0+/, "");
  const isZero = significant === "";
  const wholeLength = isZero ? 1 : Math.max(1, point - (digits.length - significant.length));
  const fractionLength = Math.max(0, digits.length - point);
  if (wholeLength + fractionLength > mostDigits) return undefined;
  const padded = isZero ? "" : significant + "0".repeat(Math.max(0, point - digits.length));
  const result = putPoint(padded.padStart(fractionLength + 1, "0"), fractionLength);
  return isZero ? result : minus + result;
}

function putPoint(digits: string, fractionLength: number): string {
  if (fractionLength === 0) return digits;
  return `${digits.slice(0, -fractionLength)}.${digits.slice(-fractionLength)}`;
}

/**
 * Writes a plain decimal with exactly two digits after the point (spec 5.2 rule 2). Missing digits are filled with
 * zeros and further zeros are dropped; nothing is ever rounded. A minus stays as it is written.
 * @returns undefined if a digit after the second is not 0, or the text is not `-?(0|[1-9]\d*)(\.\d+)?`
 */
export function toTwoDigits(text: string): string | undefined {
  const [, whole, fraction = ""] = decimal.exec(text) ?? [];
  if (whole === undefined || /[1-9]/.test(fraction.slice(2))) return undefined;
  return `${whole}.${fraction.slice(0, 2).padEnd(2, "0")}`;
}

/**
 * The string to sign (spec 5.2 steps 1, 3 and 4): parameters sorted by name, each name followed by its value, without
 * separators. Which names and values are allowed is checked elsewhere.
 * @param exempt names that are not signed
 */
export function stringToSign(parameters: readonly NamedValue[], exempt: ReadonlySet<string>): string {
  const signed = parameters.filter(({ name }) => !exempt.has(name));
  signed.sort(compareNames);
  let text = "";
  for (const { name, value } of signed) text += name + value;
  return text;
}

/**
 * The body that is sent: exactly the strings that were signed, in their order (spec 2.1). It is written parameter by
 * parameter, never from an object, so neither `__proto__` nor a name that looks like an integer can change it.
 */
export function serialise(parameters: readonly SentParameter[]): string {
  let text = "";
  for (const { name, value, isPlain } of parameters) {
    // Names have no character that needs an escape.
    text += `${text === "" ? "" : ","}"${name}":${isPlain ? `"${value}"` : JSON.stringify(value)}`;
  }
  return `{${text}}`;
}

/** HMAC-SHA256 over the UTF-8 bytes, in 64 lowercase hexadecimal digits (spec 5.2 steps 5 and 6). */
export function sign(text: string, secret: Secret): string {
  return createHmac("sha256", secret.key).update(text, "utf8").digest("hex");
}

/** Whether this is exactly the text's signature. Compares in constant time. */
export function verify(text: string, secret: Secret, signature: string): boolean {
  const expected = Buffer.from(sign(text, secret), "utf8");
  const given = Buffer.from(signature, "utf8");
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Parameters that must be present before a signature can be checked (spec 5.2 step 2). */
const needed = [...requiredNames, "signature"] as const;

/** Whether all parameters without which no signature can be checked are present, and not empty. */
export function isSigned(parameters: ReadonlyMap<string, string>): boolean {
  return missingNames(parameters).length === 0;
}

/** Which of these parameters are absent or empty. */
export function missingNames(parameters: ReadonlyMap<string, string>): readonly string[] {
  return needed.filter((name) => (parameters.get(name) ?? "") === "");
}

/**
 * The one of these keys that made the parameters' signature (spec 5.2), compared in constant time.
 * @param exempt names that are not signed; always holds `signature`
 */
export function findSigner(
  parameters: ReadonlyMap<string, string>,
  keys: readonly SigningKey[],
  exempt: ReadonlySet<string>,
): SigningKey | undefined {
  const named = Array.from(parameters, ([name, value]) => ({ name, value }));
  const text = stringToSign(named, exempt);
  return keys.find(({ secret }) => verify(text, secret, parameters.get("signature") ?? ""));
}
