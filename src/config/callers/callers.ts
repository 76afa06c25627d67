import { basename } from "node:path";
import type { Caller } from "../../model/caller.ts";
import type { Callers, CallerToken } from "../../model/listener.ts";
import { nearestName } from "../../model/names.ts";
import type { Secret } from "../../model/secret.ts";
import type { RawEnvironment } from "../environment-schema.ts";
import type { CallerTokenSource, SecretSource } from "../fields.ts";
import type { LoadContext } from "../load-context.ts";
import type { RawListener } from "../schema.ts";
import { loadCallersTls } from "../tls.ts";
import { isLocal } from "../values.ts";
import { isFormerForm, type Proof } from "./caller-proofs.ts";
import type { RawCaller } from "./caller-schema.ts";

/** RFC 6750 section 2.1: what can follow `Bearer`, and fits into a proxy's URL with little escaping. */
const bearerToken = /^[A-Za-z0-9._~+/-]+=*$/;
const leastTokenBytes = 16;
const longestName = 64;
const mostListed = 5;

/**
 * Loads who may call on a listener.
 * @param environment its own; undefined where there is no such environment
 * @param proofs gets what proves the listener's callers
 */
export async function loadCallers(
  listener: RawListener,
  environment: RawEnvironment | undefined,
  proofs: Proof[],
  context: LoadContext,
): Promise<Callers | undefined> {
  const { bind, callers, mtls } = listener;
  const at = context.in("callers");
  const isNamed = typeof callers === "object" && !isFormerForm(callers);
  if (mtls !== undefined && !isNamed) {
    context.in("mtls").report("mtls is for callers that have names", "add callers: { NAME: { certificate: … } }");
  }
  if (callers === undefined) return undefined;
  if (callers === "anyone") return { kind: "anyone" };
  if (!isNamed) return loadFormerForm(callers, listener, proofs, at);
  const entries = Object.entries(callers);
  if (entries.length === 0) at.report("there is no caller", "add one: NAME: { token: { file: /path } }");
  const tls = mtls && (await loadCallersTls(mtls, context.in("mtls")));
  const named: Caller[] = [];
  for (const [name, caller] of entries) {
    checkRights(caller, listener.environment, environment, at.in(name));
    named.push(await loadCaller(name, caller, listener, proofs, at.in(name)));
  }
  if (mtls === undefined && !isLocal(bind)) warnOfPlainText(at);
  return { kind: "named", callers: named, tls };
}

/** Callers without rights: a list of tokens, or all that have a certificate of the authorities. */
async function loadFormerForm(
  callers: Extract<RawListener["callers"], { tokens: unknown } | { mtls: unknown }>,
  listener: RawListener,
  proofs: Proof[],
  at: LoadContext,
): Promise<Callers | undefined> {
  if ("mtls" in callers) {
    const fix = "name those that may call: mtls beside callers: { NAME: { certificate: spiffe://… } }";
    at.warn("callers_without_rights", "every certificate of these authorities comes in, and may do everything", fix);
    const tls = await loadCallersTls(callers.mtls, at.in("mtls"));
    return tls && { kind: "mtls", tls };
  }
  const tokens: CallerToken[] = [];
  for (const [source, atToken] of at.in("tokens").each(callers.tokens)) {
    const token = await loadToken(source, atToken);
    if (token === undefined) continue;
    tokens.push({ name: nameOf(source, tokens, atToken), token });
    proofs.push({ at: atToken, listener, value: token, caller: undefined });
  }
  const fix = "give each a name and its rights: callers: { NAME: { token: { file: /path }, sites: [ … ] } }";
  at.warn("callers_without_rights", "each of these tokens may do everything", fix);
  if (!isLocal(listener.bind)) warnOfPlainText(at.in("tokens"));
  return { kind: "tokens", tokens };
}

function warnOfPlainText(context: LoadContext): void {
  const fix = "use mtls, and a certificate for each caller, or make sure that no one can listen in between";
  context.warn("callers_in_plain_text", "tokens and orders go over the network in plain text", fix);
}

async function loadCaller(
  name: string,
  { token, certificate, sites, operations, requestsPerSecond }: RawCaller,
  listener: RawListener,
  proofs: Proof[],
  context: LoadContext,
): Promise<Caller> {
  const [atToken, atCertificate] = [context.in("token"), context.in("certificate")];
  const hasTls = listener.mtls !== undefined;
  if (token === undefined && certificate === undefined) {
    const fix = hasTls ? "add certificate: spiffe://… or a DNS name" : "add token: { file: /path }";
    context.report("nothing proves this caller", fix);
  } else if (token !== undefined && hasTls) {
    atToken.report(
      "callers of a listener with mtls prove themselves with a certificate",
      "write certificate: …",
      "hidden",
    );
  } else if (certificate !== undefined && !hasTls) {
    atCertificate.report(
      "nothing asks for certificates here",
      "add mtls: { caFile, certFile, keyFile } to the listener",
    );
  }
  const prove = <Value extends Secret | string>(value: Value, at: LoadContext): Value => {
    proofs.push({ at, listener, value, caller: name });
    return value;
  };
  const certificates = within(certificate, atCertificate).map(([value, at]) => prove(value, at));
  const tokens: Secret[] = [];
  for (const [source, at] of within<SecretSource>(token, atToken)) {
    const secret = await loadToken(source, at);
    if (secret === undefined) continue;
    tokens.push(prove(secret, at));
    if (secret.length >= leastTokenBytes) continue;
    at.report(
      `the token is shorter than ${leastTokenBytes} bytes`,
      "make one with: countersign keygen",
      at.state.origins.get(secret),
    );
  }
  const setOf = (names: readonly string[] | undefined) => (names === undefined ? "any" : new Set(names));
  return { name, tokens, certificates, sites: setOf(sites), operations: setOf(operations), requestsPerSecond };
}

/** One value, or those of a list, each with its own path. */
function within<Value>(given: Value | readonly Value[] | undefined, at: LoadContext): [Value, LoadContext][] {
  if (given === undefined) return [];
  return Array.isArray(given) ? [...at.each(given as readonly Value[])] : [[given as Value, at]];
}

/** A right to what the environment does not have is most often misspelt. */
function checkRights(
  { sites, operations }: RawCaller,
  name: string,
  environment: RawEnvironment | undefined,
  context: LoadContext,
): void {
  if (environment === undefined) return;
  const check = (what: string, given: readonly string[] = [], known: readonly string[], at: LoadContext) => {
    for (const [each, atEach] of at.each(given)) {
      if (known.includes(each)) continue;
      const nearest = nearestName(each, known);
      const list = `${known.slice(0, mostListed).join(", ")}${known.length > mostListed ? ", …" : ""}`;
      const fix = nearest === undefined ? `write one of: ${list}` : `did you mean ${nearest}?`;
      atEach.report(`environment ${name} has no ${what} ${each}`, fix);
    }
  };
  const all = Object.entries(environment.sites).flatMap(([site, { children }]) => [site, ...Object.keys(children)]);
  check("site", sites, all, context.in("sites"));
  if (environment.operations.includes("*")) return;
  const prefixes = environment.passThrough.map(({ prefix }) => prefix);
  check("operation", operations, [...environment.operations, ...prefixes], context.in("operations"));
}

async function loadToken(source: SecretSource, context: LoadContext): Promise<Secret | undefined> {
  const token = await context.loadSecret(source);
  if (token === undefined || bearerToken.test(token.reveal())) return token;
  const message = "the token cannot be sent as one: it may have A-Z a-z 0-9 - . _ ~ + / and = at its end (RFC 6750)";
  context.report(message, "make one with: countersign keygen", context.state.origins.get(token));
  return token;
}

/** @param others of the same listener */
function nameOf(source: CallerTokenSource, others: readonly CallerToken[], context: LoadContext): string {
  if (source.name !== undefined) return source.name;
  const given = "file" in source ? basename(source.file) : source.env;
  // In characters that a label may have.
  const name = given.replace(/[^A-Za-z0-9._-]/g, "_").slice(0, longestName);
  if (others.some((other) => other.name === name)) {
    context.warn("caller_name_twice", `the log calls the callers of two tokens ${name}`, "give each token a name");
  }
  return name;
}
