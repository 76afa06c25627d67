import type { SiteDirectory } from "./sites.ts";
import { signatureOf, stringToSign } from "./verify-signature.ts";

/** In which form a callback is sent. */
const forms = ["json", "form", "query"] as const;
/** How a forged callback differs from a genuine one. */
const forgeries = ["signature", "value", "key", "timestamp", "nested", "repeated"] as const;

/** 60 days: longer than callbacks are remembered. */
const tooOldSeconds = 5_184_000;

type Form = (typeof forms)[number];
type Forgery = (typeof forgeries)[number];

/** A callback to send (spec 6 shows no kinds and fields, so any are allowed). */
export interface CallbackOrder {
  /** Where the callback goes. */
  readonly url: string;
  /** S… or K…; a site signs with its default key (spec 5.3). Default: the first site with a key. */
  readonly site: string | undefined;
  readonly form: Form;
  /** In addition to version, site_identifier and timestamp. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly forge: Forgery | undefined;
  /** How often the very same callback is sent, one after the other. */
  readonly times: number;
}

/** One sending: the request and its answer. */
export interface SentCallback {
  readonly method: string;
  readonly url: string;
  readonly body: string | undefined;
  readonly answers: readonly { readonly status?: number; readonly body?: string; readonly error?: string }[];
}

const mostTimes = 100;
const answerMs = 30_000;

/** Reads the input of the control endpoint. @throws Error that says what is wrong */
export function readCallbackOrder(input: Readonly<Record<string, unknown>>): CallbackOrder {
  const { url, site, form = "json", parameters = {}, forge, times = 1, ...unknown } = input;
  const [other] = Object.keys(unknown);
  if (other !== undefined) throw new Error(`a callback has no ${other}`);
  if (typeof url !== "string" || !/^https?:/.test(url) || !URL.canParse(url))
    throw new Error("url must be an http URL");
  if (site !== undefined && typeof site !== "string") throw new Error("site must be a string");
  const count = Number(times);
  if (!Number.isInteger(count) || count < 1 || count > mostTimes) throw new Error(`times is 1 to ${mostTimes}`);
  return {
    url,
    site,
    form: oneOf(forms, "form", form),
    parameters: readStrings(parameters),
    forge: forge === undefined ? undefined : oneOf(forgeries, "forge", forge),
    times: count,
  };
}

/** Sends a callback as the service does: signed with the site's key, even if the site's own calls use OAuth (spec 5.1 rule 4). */
export async function sendCallback(
  order: CallbackOrder,
  directory: SiteDirectory,
  nowMs: number,
): Promise<SentCallback> {
  const { method, url, type, body } = write(order, sign(order, directory, nowMs));
  const answers: SentCallback["answers"][number][] = [];
  for (let time = 0; time < order.times; time += 1) answers.push(await post(method, url, type, body));
  return { method, url, body, answers };
}

function sign({ site, parameters, forge }: CallbackOrder, directory: SiteDirectory, nowMs: number) {
  const identifier = site ?? directory.keys[0]?.site.identifier ?? "";
  const key = directory.identify(identifier)?.key;
  if (key === undefined) throw new Error(identifier === "" ? "no site has a key" : `${identifier} has no key`);
  const seconds = Math.floor(nowMs / 1_000) - (forge === "timestamp" ? tooOldSeconds : 0);
  const own = { version: key.version, site_identifier: identifier, timestamp: String(seconds), ...parameters };
  const secret = forge === "key" ? `not ${key.key.secret}` : key.key.secret;
  const signature = signatureOf(stringToSign(new Map(Object.entries(own))), secret);
  return { ...own, signature: forge === "signature" ? signature.replace(/./g, "0") : signature };
}

/** The signature does not cover the changes made here. */
function write({ url, form, forge }: CallbackOrder, signed: Readonly<Record<string, string>>) {
  const changed = forge === "value" ? { ...signed, forged: "yes" } : signed;
  const encoded = [
    new URLSearchParams(changed).toString(),
    ...(forge === "nested" ? ["forged%5B0%5D=yes"] : []),
    ...(forge === "repeated" ? [`timestamp=${signed["timestamp"]}`] : []),
  ].join("&");
  if (form === "query") {
    const address = `${url}${url.includes("?") ? "&" : "?"}${encoded}`;
    return { method: "GET", url: address, type: undefined, body: undefined };
  }
  if (form === "form") return { method: "POST", url, type: "application/x-www-form-urlencoded", body: encoded };
  const text = JSON.stringify(forge === "nested" ? { ...changed, forged: ["yes"] } : changed);
  const body = forge === "repeated" ? `${text.slice(0, -1)},"timestamp":"${signed["timestamp"]}"}` : text;
  return { method: "POST", url, type: "application/json", body };
}

/** On a new connection: a kept connection would make the receiver wait when it drains. */
async function post(method: string, url: string, type: string | undefined, body: string | undefined) {
  const headers = { connection: "close", ...(type === undefined ? {} : { "content-type": type }) };
  const content = type === undefined ? {} : { body: body ?? "" };
  try {
    const signal = AbortSignal.timeout(answerMs);
    const response = await fetch(url, { method, redirect: "manual", signal, headers, ...content });
    return { status: response.status, body: await response.text() };
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    return { error: cause instanceof Error ? cause.message : String(cause) };
  }
}

function oneOf<Name extends string>(names: readonly Name[], what: string, given: unknown): Name {
  const name = names.find((each) => each === given);
  if (name === undefined) throw new Error(`${what} is one of: ${names.join(", ")}`);
  return name;
}

function readStrings(given: unknown): Readonly<Record<string, string>> {
  if (typeof given !== "object" || given === null) throw new Error("parameters must be an object of strings");
  const entries = Object.entries(given);
  if (entries.every(([, value]) => typeof value === "string")) return Object.fromEntries(entries);
  throw new Error("parameters must be an object of strings");
}
