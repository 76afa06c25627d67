import type { Environment, Site } from "../model/environment.ts";
import { type FailureCode, ProxyError } from "../model/errors.ts";
import { PatchedMap } from "../model/patched-map.ts";
import { type Secret, SecretLookup } from "../model/secret.ts";
import { FlatJson, kindInWords, type Member, refuseText } from "./flat-json.ts";
import { allowedName } from "./signature.ts";

/** A value as the caller gave it. */
export interface Parameter {
  readonly name: string;
  readonly kind: "string" | "number" | "boolean";
  /** A string unescaped; a number exactly as written, e.g. `1.50e1`; `true` or `false`. */
  readonly value: string;
  /** Whether the value needs no escape between the quotes of a JSON string. */
  readonly isPlain: boolean;
}

/** In the caller's order. */
export type Parameters = ReadonlyMap<string, Parameter>;

const byteOrderMark = "\uFEFF";
/** `ignoreBOM` keeps the mark, so that it can be refused. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const longestShownName = 40;
/** The shortest member of an object, with its comma: `"a":1,`. */
const shortestMemberBytes = 6;
const colon = 0x3a;

/** An upper limit of a body's parameters, before the body is parsed: each has a colon and a minimum length. */
export function mostParameters(body: Uint8Array): number {
  const most = Math.ceil(body.length / shortestMemberBytes);
  let colons = 0;
  for (let at = body.indexOf(colon); at >= 0 && colons < most; at = body.indexOf(colon, at + 1)) colons += 1;
  return colons;
}

/**
 * Reads a body: one flat JSON object in UTF-8 (spec 2.1, RFC 8259). If the text is not JSON, that is
 * reported, else the first of all other faults.
 * @param most the highest number of parameters that is accepted
 * @throws ProxyError body_not_json, duplicate_parameter, name_not_allowed, null_value, nested_value; malformed_request
 */
export function readParameters(body: Uint8Array, most = Number.POSITIVE_INFINITY): Parameters {
  const json = new FlatJson(decodeUtf8(body));
  const parameters = new Map<string, Parameter>();
  let failure: ProxyError | undefined;
  for (let member = json.readMember(); member !== undefined; member = json.readMember()) {
    const isNew = isScalar(member) ? add(parameters, member) : !parameters.has(member.name);
    failure ??= checkName(member, isNew, json) ?? checkValue(member, json);
    if (parameters.size > most) throw tooMany(most);
  }
  if (failure !== undefined) throw failure;
  return parameters;
}

/**
 * Decodes a body as RFC 8259 section 8.1 demands: UTF-8 without a byte order mark. Nothing is replaced: the text encodes to
 * exactly the bytes that came in, so it has no lone surrogate.
 * @throws ProxyError body_not_json
 */
function decodeUtf8(body: Uint8Array): string {
  if (isUtf16(body)) throw refuseText("The body looks like UTF-16; send it as UTF-8", "UTF-16");
  const text = decode(body);
  if (text === undefined) {
    const at = `byte ${findBadByte(body)}`;
    throw refuseText(`The body is not valid UTF-8: see ${at}`, `not UTF-8 at ${at}`);
  }
  if (text.startsWith(byteOrderMark))
    throw refuseText("The body starts with a byte order mark; send it without one", "byte order mark");
  return text;
}

function decode(body: Uint8Array): string | undefined {
  try {
    return utf8.decode(body);
  } catch {
    return undefined;
  }
}

/** Whether it has a byte order mark of UTF-16, or a NUL as its first or second byte. */
function isUtf16(body: Uint8Array): boolean {
  const first = body[0];
  const second = body[1];
  if (first === undefined || second === undefined) return false;
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || first === 0 || second === 0;
}

/** Where lenient decoding first changes a byte, counted from 1. */
function findBadByte(body: Uint8Array): number {
  const fixed = new TextEncoder().encode(new TextDecoder("utf-8", { ignoreBOM: true }).decode(body));
  return fixed.findIndex((byte, index) => byte !== body[index]) + 1;
}

export function tooMany(most: number): ProxyError {
  return new ProxyError("malformed_request", `There are more than ${most} parameters.`, { causedBy: "count" });
}

/** @returns whether the name is new; one look-up, since a body may have tens of thousands of parameters */
function add(parameters: Map<string, Parameter>, parameter: Parameter): boolean {
  const count = parameters.size;
  parameters.set(parameter.name, parameter);
  return parameters.size > count;
}

function isScalar(member: Member): member is Member & Parameter {
  return member.kind === "string" || member.kind === "number" || member.kind === "boolean";
}

function checkName({ name, nameAt }: Member, isNew: boolean, json: FlatJson): ProxyError | undefined {
  if (!allowedName.test(name)) return refuseName(name, ` at character ${json.characterAt(nameAt)}`);
  if (isNew) return undefined;
  const where = `${showName(name)} is given twice, again at character ${json.characterAt(nameAt)}`;
  return refuseParameter("duplicate_parameter", `The parameter ${where}; send it once.`, name);
}

function checkValue({ name, kind, valueAt }: Member, json: FlatJson): ProxyError | undefined {
  if (kind !== "null" && kind !== "object" && kind !== "array") return undefined;
  const what = `The parameter ${showName(name)} at character ${json.characterAt(valueAt)} is ${kindInWords[kind]}`;
  if (kind === "null") return refuseParameter("null_value", `${what}; give it a value, or leave it out.`, name);
  return refuseParameter(
    "nested_value",
    `${what}; parameters are flat, so send a string, a number or a boolean.`,
    name,
  );
}

/** @param place where the name is, after a space; empty if that is not known */
export function refuseName(name: string, place = ""): ProxyError {
  const what = `The name ${showName(name)}${place} is not allowed: a name is 1 to 256 of A-Z a-z 0-9 _ . and -.`;
  return refuseParameter("name_not_allowed", what, name);
}

/** A failure that one parameter causes; the log names it. */
export function refuseParameter(code: FailureCode, message: string, name: string): ProxyError {
  return new ProxyError(code, message, { causedBy: allowedName.test(name) ? name : showName(name) });
}

/** A name in quotes for a person to read: at most 40 of its characters, printable ASCII, the rest escaped. */
export function showName(name: string): string {
  const shown = JSON.stringify(name.slice(0, longestShownName)).replace(/[^\x20-\x7e]/g, escapeUnit);
  return name.length > longestShownName ? `${shown}…` : shown;
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** A sample of the service leaves it out of the signature (spec 5.2 step 1), so applications that signed may still send it. */
const secretName = "secret_key";

/** The secrets of one environment, to recognise them among values. */
interface KnownSecrets {
  /** Most values differ from every secret in length, in bytes of UTF-8, and then need no digest. */
  readonly lengths: ReadonlySet<number>;
  /** A value with fewer UTF-16 units than this is too short: each unit takes three bytes at most. */
  readonly fewestUnits: number;
  readonly lookup: SecretLookup<true>;
}

/** A reload makes new Environment objects; the base of their sites stays the same if few sites have changed. */
const secretsOf = new WeakMap<Environment, readonly KnownSecrets[]>();
const secretsOfSites = new WeakMap<ReadonlyMap<string, Site>, KnownSecrets>();

/**
 * Refuses a secret in a body: the service needs none there, and bodies end up in logs and databases.
 * @throws ProxyError secret_in_body
 */
export function checkForSecrets(parameters: Parameters, environment: Environment): void {
  const indexes = secretsOf.get(environment) ?? indexSecrets(environment);
  for (const { name, value } of parameters.values()) {
    if (name === secretName) {
      const why = "is for a secret, which never travels: Countersign signs, or attaches a token";
      throw refuseParameter("secret_in_body", `The parameter ${name} ${why}. Leave it out.`, name);
    }
    if (indexes.some((secrets) => isAmong(secrets, value))) {
      const what = `The value of the parameter ${name} is a secret of this listener's environment`;
      throw refuseParameter("secret_in_body", `${what}. Leave it out.`, name);
    }
  }
}

function isAmong({ lengths, fewestUnits, lookup }: KnownSecrets, value: string): boolean {
  return value.length >= fewestUnits && lengths.has(Buffer.byteLength(value)) && lookup.find(value) === true;
}

/** All secrets that prove this environment's sites to the service, its authorization server or its forward proxy. */
function indexSecrets(environment: Environment): readonly KnownSecrets[] {
  const { sites, tls, egress } = environment;
  const { base, patches } = PatchedMap.partsOf(sites);
  const ofBase = secretsOfSites.get(base) ?? toIndex(secretsIn(base));
  secretsOfSites.set(base, ofBase);
  const indexes = [ofBase, toIndex([...secretsIn(patches), tls.key, egress?.credentials, egress?.tls.key])];
  secretsOf.set(environment, indexes);
  return indexes;
}

function toIndex(given: readonly (Secret | undefined)[]): KnownSecrets {
  const secrets = given.filter((secret) => secret !== undefined);
  const lengths = new Set(secrets.map((secret) => secret.length));
  const fewestUnits = Math.min(...lengths) / 3;
  return { lengths, fewestUnits, lookup: new SecretLookup(secrets.map((secret) => [secret, true] as const)) };
}

function secretsIn(sites: ReadonlyMap<string, Site>): (Secret | undefined)[] {
  return [...sites.values()].flatMap(({ keys, credentials }) => [
    ...keys.map(({ secret }) => secret),
    ...(credentials?.sets ?? []).flatMap(({ clientSecret, token }) => {
      const { clientAuth } = token ?? {};
      return [clientSecret, clientAuth?.method === "private_key_jwt" ? clientAuth.privateKey : undefined];
    }),
  ]);
}
