import { isIP } from "node:net";
import { dirname } from "node:path";
import { type Address, withoutBrackets } from "../../model/environment.ts";
import { type Bind, type Caller, type Callers, describeBind } from "../../model/listener.ts";
import { nearestName } from "../../model/names.ts";
import type { Secret } from "../../model/secret.ts";
import type { ListenerConfig } from "../config.ts";
import { formatPath } from "../diagnostics.ts";
import { folderOf, type RawEnvironment } from "../form/environment.ts";
import type { SecretSource } from "../form/fields.ts";
import type { RawCaller, RawListener } from "../form/listeners.ts";
import type { RawConfig } from "../form/schema.ts";
import { isLocal, isLoopback } from "../form/values.ts";
import type { LoadContext } from "./load-context.ts";
import { withChildren } from "./sites.ts";
import { loadCallersTls } from "./tls.ts";
import { repeats } from "./uniqueness.ts";

/** An address where this process listens. */
interface Binding {
  readonly at: LoadContext;
  readonly bind: Bind;
  /** Only listeners for applications have one. */
  readonly environment?: string;
}

const openToAll =
  "every client that reaches this listener can spend money: it is not on loopback or a Unix socket and has no callers";
const nameCallers =
  "bind it to 127.0.0.1, or say who may call: callers: { NAME: { token: { file: /path } } }, or the word anyone";

/** RFC 6750 section 2.1: the characters of a Bearer token, of which a proxy's URL needs few escaped. */
const bearerToken = /^[A-Za-z0-9._~+/-]+=*$/;
const notBearer = "the token cannot be sent as Bearer: it may have A-Z a-z 0-9 - . _ ~ + / and = at its end (RFC 6750)";
const leastTokenBytes = 16;
const mostListed = 5;

/**
 * Checks every address where this process listens, and loads the listeners for applications with their callers.
 * @param root of the whole configuration
 */
export async function loadListeners(raw: RawConfig, root: LoadContext): Promise<ListenerConfig[]> {
  const context = root.in("listeners");
  if (raw.status !== undefined && !isLocal(raw.status.bind)) {
    const fix = "bind it to 127.0.0.1; kubectl port-forward reaches it there";
    root.in("status", "bind").report("the status port is for loopback only", fix);
  }
  await checkBindings(raw, root);
  const known = new Map(Object.entries(raw.environments));
  const listeners: ListenerConfig[] = [];
  for (const [listener, at] of context.each(raw.listeners)) {
    const { bind, environment, hosts } = listener;
    at.in("environment").reportUnlessOneOf([...known.keys()], environment, "environment");
    if (!isLocal(bind) && listener.callers === undefined) at.in("bind").report(openToAll, nameCallers);
    const callers = await loadCallers(listener, known.get(environment), at);
    listeners.push({ bind, environment, hosts, callers });
  }
  checkRates(raw.listeners, context);
  return listeners;
}

/** A warning: another machine, such as CI's, may check the configuration. `serve` cannot listen there. */
async function checkFolder(socketPath: string, at: LoadContext): Promise<void> {
  const folder = dirname(socketPath);
  if ((await at.namesIn(folder)) !== undefined) return;
  at.warn("socket_folder_absent", `there is no folder ${folder}`, "create it before serve starts, or correct the path");
}

async function checkBindings(raw: RawConfig, root: LoadContext): Promise<void> {
  const { listeners, callbacks, admin, status } = raw;
  const all: Binding[] = [
    ...[...root.in("listeners").each(listeners)].map(([listener, at]) => ({ ...listener, at: at.in("bind") })),
    ...[...root.in("callbacks").each(callbacks)].map(([{ bind }, at]) => ({ bind, at: at.in("bind") })),
    { bind: admin.bind, at: root.in("admin", "bind") },
    ...(status === undefined ? [] : [{ bind: status.bind, at: root.in("status", "bind") }]),
  ];
  for (const [index, binding] of all.entries()) {
    if (binding.bind.kind === "unix") await checkFolder(binding.bind.path, binding.at);
    const earlier = all.slice(0, index).find((other) => doCollide(other, binding));
    if (earlier === undefined) continue;
    const message = `${formatPath(earlier.at.path)} listens there already: ${describeBind(earlier.bind)}`;
    binding.at.report(message, "give each its own port or path");
  }
  for (const [url, at] of peersOf(raw, root)) {
    const own = all.find(({ bind }) => leadsTo(url, bind));
    if (own === undefined) continue;
    at.report(`this process listens there itself: ${formatPath(own.at.path)}`, "give the other program's address");
  }
}

/** Where requests and callbacks go. */
function peersOf({ environments, callbacks }: RawConfig, root: LoadContext): (readonly [Address, LoadContext])[] {
  const ofServices = Object.entries(environments).flatMap(([name, { baseUrl, authUrl, token }]) => {
    const at = root.in("environments", name);
    return [
      [baseUrl, at.in("baseUrl")],
      [authUrl, at.in("authUrl")],
      [token?.url, at.in("token", "url")],
    ] as const;
  });
  const ofCallbacks = [...root.in("callbacks").each(callbacks)].map(
    ([{ application }, at]) => [application.url, at.in("application", "url")] as const,
  );
  return [...ofServices, ...ofCallbacks].flatMap(([url, at]) => (url === undefined ? [] : [[url, at] as const]));
}

function leadsTo(url: Address, bind: Bind): boolean {
  if (bind.kind === "unix" || bind.port === 0 || bind.port !== url.port) return false;
  const host = withoutBrackets(url.host);
  return host === bind.host || (isLoopback(url) && (everyAddress.includes(bind.host) || isLocal(bind)));
}

/**
 * Whether both have the same path or port; port 0 chooses a free port each time. Only listeners of one environment may share
 * a port at several addresses, such as 127.0.0.1 and [::1]: `localhost` may mean either, and must not change the environment.
 */
function doCollide({ bind: a, environment }: Binding, { bind: b, environment: other }: Binding): boolean {
  if (a.kind === "unix" || b.kind === "unix") return a.kind === b.kind && describeBind(a) === describeBind(b);
  if (a.port !== b.port || a.port === 0) return false;
  const areApart = isOneAddress(a.host) && isOneAddress(b.host) && a.host !== b.host;
  return !(areApart && environment !== undefined && environment === other);
}

const everyAddress = ["", "0.0.0.0", "::"];

function isOneAddress(host: string): boolean {
  return isIP(host) !== 0 && !everyAddress.includes(host);
}

/**
 * Loads the callers of a listener.
 * @param environment the listener's; undefined if no environment has that name
 */
async function loadCallers(
  listener: RawListener,
  environment: RawEnvironment | undefined,
  context: LoadContext,
): Promise<Callers | undefined> {
  const { bind, callers, mtls } = listener;
  const at = context.in("callers");
  if (mtls !== undefined && typeof callers !== "object") {
    context.in("mtls").report("mtls is for callers that have names", "add callers: { NAME: { certificate: … } }");
  }
  if (callers === undefined) return undefined;
  if (callers === "anyone") return { kind: "anyone" };
  const entries = Object.entries(callers);
  if (entries.length === 0) at.report("there is no caller", "add one: NAME: { token: { file: /path } }");
  const tls = mtls && (await loadCallersTls(mtls, context.in("mtls")));
  const named: Caller[] = [];
  for (const [name, caller] of entries) {
    checkRights(caller, listener.environment, environment, at.in(name));
    named.push(await loadCaller(name, caller, listener, at.in(name)));
  }
  if (mtls === undefined && !isLocal(bind)) {
    const fix = "use mtls, and a certificate for each caller, or make sure that no one can listen in between";
    at.warn("callers_in_plain_text", "tokens and orders go over the network in plain text", fix);
  }
  return { kind: "named", callers: named, tls };
}

async function loadCaller(
  name: string,
  { token, certificate, sites, operations, requestsPerSecond }: RawCaller,
  { environment, mtls }: RawListener,
  context: LoadContext,
): Promise<Caller> {
  const [atToken, atCertificate] = [context.in("token"), context.in("certificate")];
  const hasTls = mtls !== undefined;
  if (token === undefined && certificate === undefined) {
    const fix = hasTls ? "add certificate: spiffe://… or a DNS name" : "add token: { file: /path }";
    context.report("nothing proves this caller", fix);
  } else if (token !== undefined && hasTls) {
    const message = "callers of a listener with mtls prove themselves with a certificate";
    atToken.report(message, "write certificate: …", "hidden");
  } else if (certificate !== undefined && !hasTls) {
    const fix = "add mtls: { caFile, certFile, keyFile } to the listener";
    atCertificate.report("nothing asks for certificates here", fix);
  }
  const certificates: string[] = [];
  for (const [value, at] of within(certificate, atCertificate)) {
    if (certificates.includes(value)) at.report("this name is in the list already", "leave it out");
    // Listeners of other environments may have the same workload as a caller.
    at.addUniqueValue("certificate name", `${value} ${environment}`, name, environment);
    certificates.push(value);
  }
  const tokens: Secret[] = [];
  for (const [source, at] of within<SecretSource>(token, atToken)) {
    const secret = await at.loadSecret(source);
    if (secret === undefined) continue;
    const report = (message: string) => at.report(message, "make one with: countersign keygen", secret.origin);
    if (!bearerToken.test(secret.reveal())) report(notBearer);
    if (secret.length < leastTokenBytes) report(`the token is shorter than ${leastTokenBytes} bytes`);
    at.addUniqueValue("caller token", secret, name, environment);
    if (tokens.some((earlier) => earlier.equals(secret))) {
      at.report("this token is in the list already", "put another one there, or leave it out", "hidden");
    }
    tokens.push(secret);
  }
  const setOf = (names: readonly string[] | undefined) => (names === undefined ? "any" : new Set(names));
  return { name, tokens, certificates, sites: setOf(sites), operations: setOf(operations), requestsPerSecond };
}

/** One value, or those of a list, each with its own path. */
function within<Value>(given: Value | readonly Value[] | undefined, at: LoadContext): [Value, LoadContext][] {
  if (given === undefined) return [];
  return Array.isArray(given) ? [...at.each(given as readonly Value[])] : [[given as Value, at]];
}

/** Reports rights to sites and operations that the environment does not have: most of them are misspelt. */
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
  const all = withChildren(environment.sites).map(([site]) => site);
  if (folderOf(environment.sites) === undefined) check("site", sites, all, context.in("sites"));
  if (environment.operations.includes("*")) return;
  const prefixes = environment.passThrough.map(({ prefix }) => prefix);
  check("operation", operations, [...environment.operations, ...prefixes], context.in("operations"));
}

/** A name is one caller in the whole environment, whose requests are counted together: so it has one rate. */
function checkRates(listeners: readonly RawListener[], context: LoadContext): void {
  const named = [...context.each(listeners)].flatMap(([{ environment, callers }, at]) =>
    Object.entries(typeof callers === "object" ? callers : {}).map(([name, { requestsPerSecond }]) => {
      return { key: `${environment} ${name}`, name, requestsPerSecond, at: at.in("callers", name) };
    }),
  );
  for (const [caller, first] of repeats(named, ({ key }) => key)) {
    if (caller.requestsPerSecond === first.requestsPerSecond) continue;
    const message = `${caller.name} has another rate at ${formatPath(first.at.path)}, and both are one caller`;
    caller.at.in("requestsPerSecond").report(message, "write the same at both, or give one of them another name");
  }
}
