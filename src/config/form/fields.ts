import * as z from "zod";
import { durationPattern, formatDuration, parseDurationMs } from "../../model/clock.ts";
import { allowedName } from "../../parameters/signature.ts";
import { bindForm, outOfRange, type Read, type TextForm, urlForm } from "./values.ts";

// zod would generate code at each start, which takes 7 ms and is no faster for thousands of sites.
z.config({ jitless: true });

/** A string that is not empty. */
export const text = z.string().min(1);

/** The same, with an example for messages and editors. */
export const textLike = (example: string) => text.meta({ examples: [example] });

/** A text that is never shown unless it has its form: it may be a secret in the wrong place. */
function hiddenUnless(isSound: (given: string) => boolean, example: string, message: string, fix: string) {
  const isSoundOrEmpty = (given: string) => given === "" || isSound(given);
  return text
    .refine(isSoundOrEmpty, { error: message, params: { fix, found: "hidden" } })
    .meta({ examples: [example] });
}

/** The path of a file or a folder; a private key in its place is no path. */
export const pathLike = (example: string) =>
  hiddenUnless(
    (given) => !/[\p{Cc}]|-----BEGIN/u.test(given),
    example,
    "this is no path",
    "put the content into a file, and write its path here",
  );

/** A mapping with these keys and no others. */
export function mapping<Shape extends z.ZodRawShape>(description: string, shape: Shape) {
  return z.strictObject(shape).describe(description);
}

/** A key that may be left out. */
export const optional = z.optional;

/** A key with a default value. */
export const withDefault = z._default;

/** A mapping that may be left out: then each key has its default. */
export function section<Shape extends z.ZodRawShape>(description: string, shape: Shape) {
  const schema = z.strictObject(shape);
  return schema.prefault({} as z.input<typeof schema>).describe(description);
}

/** A string of a certain form; the fix ends with the example. */
export function matching(form: RegExp, fix: string, example?: string) {
  if (example === undefined) return z.string().regex(form, { error: fix });
  const error = `${fix}, like ${JSON.stringify(example)}`;
  return z
    .string()
    .regex(form, { error })
    .meta({ examples: [example] });
}

/** A value that is written as a text and read into a more precise type. */
export function codec<Value>({ read, write, pattern }: TextForm<Value>, example: string) {
  // YAML reads some texts as numbers.
  const error = ({ input }: { readonly input?: unknown }): string | undefined => {
    const result = typeof input === "number" ? read(String(input)) : undefined;
    return result !== undefined && "fix" in result ? result.fix : undefined;
  };
  const written = z.string({ error }).meta({ pattern: pattern.source, examples: [example] });
  return z.codec(written, z.custom<Value>(), {
    decode(input, { issues }) {
      const result = read(input);
      if ("value" in result) return result.value;
      const { message = "this cannot be read", fix } = result;
      issues.push({ code: "custom", input, message, params: { fix } });
      return z.NEVER;
    },
    encode: write,
  });
}

/** An address where this process listens. */
export function bind(example: string) {
  return codec(bindForm, example).describe(
    "`address:port`, `[::1]:port` for IPv6, `:port` for every address, or `unix:/path`. Port 0 chooses a free port.",
  );
}

/** An http or https URL with an optional path. */
export const url = (example: string) => codec(urlForm, example);

/** A duration with unit and a default; in milliseconds once read. */
export function duration(fallback: string, leastMs: number, mostMs: number) {
  return durationWithin(leastMs, mostMs, fallback).prefault(fallback);
}

/** A duration with unit; in milliseconds once read. */
export function durationWithin(leastMs: number, mostMs: number, example: string) {
  const isAllowed = (ms = Number.NaN) => ms >= leastMs && ms <= mostMs;
  const read = (given: string): Read<number> => {
    const value = parseDurationMs(given);
    if (value === undefined) {
      const units = [example.replace(/\d+/, ""), "s", "ms", "m", "h"];
      const own = units.map((unit) => `${given}${unit}`).find((each) => isAllowed(parseDurationMs(each)));
      const fix = `write a whole number and its unit, ms, s, m or h, like "${own ?? example}"`;
      return /^\d+$/.test(given) ? { message: `${given} has no unit`, fix } : { fix };
    }
    if (isAllowed(value)) return { value };
    const [least, most] = [formatDuration(leastMs), formatDuration(mostMs)];
    return outOfRange("duration", given, value < leastMs, least, most);
  };
  return codec({ read, write: formatDuration, pattern: durationPattern }, example);
}

const dayMs = 86_400_000;
const dayPattern = /^\d{4}-\d{2}-\d{2}$/;

const dayForm: TextForm<number> = {
  read(given) {
    const startMs = dayPattern.test(given) ? Date.parse(`${given}T00:00:00Z`) : Number.NaN;
    const isDay = !Number.isNaN(startMs) && formatDay(startMs + dayMs) === given;
    return isDay ? { value: startMs + dayMs } : { message: `${given} is no day`, fix: "write a day, like 2026-12-31" };
  },
  write: formatDay,
  pattern: dayPattern,
};

/** A day in UTC; once read, the moment at which the day ends. */
export const day = codec(dayForm, "2026-12-31");

/** The day (UTC) that ends at this moment. */
function formatDay(overAtMs: number): string {
  return new Date(overAtMs - dayMs).toISOString().slice(0, 10);
}

export function flag(fallback: boolean) {
  return z.boolean().default(fallback);
}

export function count(fallback: number, least: number, most: number) {
  return z.int().min(least).max(most).default(fallback);
}

export function listOf<Item extends z.ZodType>(item: Item, least = 0) {
  return z.array(item).min(least);
}

/** As RFC 6749 (appendix A.1) has it, but with no blank at its ends, which nobody sees. */
export const clientIdPattern = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;
export const clientIdForm = matching(
  clientIdPattern,
  "write one line of printable text, with no blank at its ends",
  "my-client",
);

/** An audience or a resource: sent in forms, written to logs. */
export const printablePattern = /^[\x21-\x7e]+$/;
export const printable = matching(printablePattern, "write one line of printable text without spaces");
export const audience = printable.meta({ examples: ["https://api.example"] });

/** A name that becomes a label of metrics and a field of log lines. */
export const plainName = (example: string) =>
  matching(/^[A-Za-z0-9._-]{1,64}$/, "write 1 to 64 of A-Z a-z 0-9 . _ -", example);
export const environmentName = plainName("sandbox");

/** A field name of RFC 9110 section 5.1. */
export const headerName = matching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "write the name of a header", "x-request-id");

/** A name as the proxy accepts it in bodies. */
export const parameterName = matching(allowedName, "write the name of a parameter", "order_amount");

/** The prefix is from spec 5.3; the other characters are allowed in labels. */
const identifier = (letter: string) =>
  matching(
    new RegExp(`^${letter}[A-Za-z0-9_-]{1,63}$`),
    `write ${letter} and 1 to 63 of A-Z a-z 0-9 _ - (spec 5.3)`,
    `${letter}1000000001`,
  );
export const siteIdentifier = identifier("S");
export const keyIdentifier = identifier("K");

export const inFile = z.strictObject({
  file: pathLike("/path").describe(
    "Path of a file, relative to the configuration file; one newline at the file's end is dropped.",
  ),
});
const inVariable = z.strictObject({
  env: hiddenUnless(
    (given) => /^[A-Za-z_][A-Za-z0-9_.-]*$/.test(given.replace(/^\$\{?(.*?)\}?$/, "$1")),
    "NAME",
    "this is no name of an environment variable",
    "write its name here, and the secret into it, or better into a file",
  ).describe("Name of an environment variable; prefer `file`."),
});

/** Where a secret is: never the secret itself. */
export const secretSource = z
  .union([inFile, inVariable])
  .describe("Where a secret is: `{ file: … }` (preferred) or `{ env: … }`.");

/** PEM files for TLS with a server; all may be left out. */
export const tlsFiles = z.strictObject({
  caFile: pathLike("ca.pem").optional().describe("PEM file with the authorities to trust. Default: the public ones."),
  certFile: pathLike("cert.pem").optional().describe("PEM file of the client certificate (mTLS); needs keyFile."),
  keyFile: pathLike("key.pem").optional().describe("PEM file of the client certificate's key, without a passphrase."),
});

export type TlsFiles = z.output<typeof tlsFiles>;
export type SecretSource = z.output<typeof secretSource>;
