import { isIP } from "node:net";
import { basename } from "node:path";
import { type Bind, type Callers, type CallerToken, describeBind } from "../model/listener.ts";
import type { ListenerConfig } from "./config.ts";
import { formatPath } from "./diagnostics.ts";
import type { CallerTokenSource } from "./fields.ts";
import type { LoadContext } from "./load-context.ts";
import type { RawConfig, RawListener } from "./schema.ts";
import { loadTls } from "./tls.ts";
import { isLocal, type Read, readBind } from "./values.ts";
import { readDocument } from "./yaml.ts";

/** RFC 6750 section 2.1: what can follow `Bearer`, and fits into a proxy's URL with little escaping. */
const bearerToken = /^[A-Za-z0-9._~+/-]+=*$/;

const longestName = 64;

/** An address where this process listens. */
interface Binding {
  readonly at: LoadContext;
  readonly bind: Bind;
  /** Where a listener of applications leads; nothing else that listens leads to the service. */
  readonly environment?: string;
}

/** A token that a listener accepts. */
interface AcceptedToken extends CallerToken {
  readonly at: LoadContext;
  readonly listener: RawListener;
}

/**
 * Checks every address where this process listens, and loads who may call there.
 * @param root of the whole configuration
 */
export async function loadListeners(raw: RawConfig, root: LoadContext): Promise<ListenerConfig[]> {
  const context = root.in("listeners");
  const environments = Object.keys(raw.environments);
  for (const [listener, at] of context.each(raw.listeners)) checkListener(listener, environments, at);
  if (!isLocal(raw.status.bind)) {
    const fix = "bind it to 127.0.0.1; kubectl port-forward reaches it there";
    root.in("status", "bind").report("the status port is for loopback only", fix);
  }
  checkBindings(raw, root);
  const accepted: AcceptedToken[] = [];
  const listeners: ListenerConfig[] = [];
  for (const [listener, at] of context.each(raw.listeners)) {
    const { bind, environment, hosts } = listener;
    const callers = await loadCallers(listener, accepted, at.in("callers"));
    listeners.push({ bind, environment, hosts: hosts.map((host) => host.toLowerCase()), callers });
  }
  checkTokensOfOneEnvironment(accepted);
  return listeners;
}

function checkListener(
  { bind, environment, callers }: RawListener,
  environments: readonly string[],
  context: LoadContext,
): void {
  if (environments.length > 0 && !environments.includes(environment)) {
    context.in("environment").report("there is no such environment", `name one of: ${environments.join(", ")}`);
  }
  if (isLocal(bind) || callers !== undefined) return;
  context
    .in("bind")
    .report(
      "every client that reaches this listener can spend money: it is not on loopback or a Unix socket and has no callers",
      "bind it to 127.0.0.1, or say who may call: callers: { tokens: [ … ] }, { mtls: … } or anyone",
    );
}

function checkBindings({ listeners, callbacks, admin, status }: RawConfig, root: LoadContext): void {
  const all: Binding[] = [
    ...[...root.in("listeners").each(listeners)].map(([listener, at]) => ({ ...listener, at: at.in("bind") })),
    ...[...root.in("callbacks").each(callbacks)].map(([{ bind }, at]) => ({ bind, at: at.in("bind") })),
    { bind: admin.bind, at: root.in("admin", "bind") },
    { bind: status.bind, at: root.in("status", "bind") },
  ];
  for (const [index, binding] of all.entries()) {
    const earlier = all.slice(0, index).find((other) => doCollide(other, binding));
    if (earlier === undefined) continue;
    const message = `${formatPath(earlier.at.path)} listens there already: ${describeBind(earlier.bind)}`;
    binding.at.report(message, "give each its own port or path");
  }
}

/**
 * The same path or the same port; port 0 takes a free one each time. Only listeners of one environment may have a port
 * at several addresses, such as 127.0.0.1 and [::1]: which of them `localhost` finds must not decide what is reached.
 */
function doCollide({ bind: a, environment }: Binding, { bind: b, environment: other }: Binding): boolean {
  if (a.kind === "unix" || b.kind === "unix") return a.kind === b.kind && describeBind(a) === describeBind(b);
  if (a.port !== b.port || a.port === 0) return false;
  const areApart = isOneAddress(a.host) && isOneAddress(b.host) && a.host !== b.host;
  return !(areApart && environment !== undefined && environment === other);
}

function isOneAddress(host: string): boolean {
  return isIP(host) !== 0 && host !== "0.0.0.0" && host !== "::";
}

/** @param accepted gets the listener's tokens */
async function loadCallers(
  listener: RawListener,
  accepted: AcceptedToken[],
  context: LoadContext,
): Promise<Callers | undefined> {
  const { bind, callers } = listener;
  if (callers === undefined) return undefined;
  if (callers === "anyone") return { kind: "anyone" };
  if ("mtls" in callers) {
    const { ca, cert, key } = await loadTls(callers.mtls, context.in("mtls"));
    const isComplete = ca !== undefined && cert !== undefined && key !== undefined;
    return isComplete ? { kind: "mtls", tls: { ca, cert, key } } : undefined;
  }
  const tokens: CallerToken[] = [];
  for (const [source, at] of context.in("tokens").each(callers.tokens)) {
    const token = await loadToken(source, tokens, at);
    if (token === undefined) continue;
    tokens.push(token);
    accepted.push({ ...token, at, listener });
  }
  if (!isLocal(bind)) {
    const fix = "use callers: { mtls: … }, or make sure that no one can listen in between";
    const message = "tokens and orders go over the network in plain text";
    context.in("tokens").warn("callers_in_plain_text", message, fix);
  }
  return { kind: "tokens", tokens };
}

/** @param others of the same listener */
async function loadToken(
  source: CallerTokenSource,
  others: readonly CallerToken[],
  context: LoadContext,
): Promise<CallerToken | undefined> {
  const token = await context.loadSecret(source);
  if (token === undefined) return undefined;
  if (!bearerToken.test(token.reveal())) {
    const message = "the token cannot be sent as one: it may have A-Z a-z 0-9 - . _ ~ + / and = at its end (RFC 6750)";
    context.report(message, "make one with: countersign keygen", context.state.origins.get(token));
  }
  const name = source.name ?? defaultName(source);
  if (source.name === undefined && others.some((other) => other.name === name)) {
    const message = `the log calls the callers of two tokens ${name}`;
    context.warn("caller_name_twice", message, "give each token a name");
  }
  return { name, token };
}

/** The name of the file or the variable, in characters that a label may have. */
function defaultName(source: CallerTokenSource): string {
  const name = "file" in source ? basename(source.file) : source.env;
  return name.replace(/[^A-Za-z0-9._-]/g, "_").slice(0, longestName);
}

/** A token of one environment must not work in another (spec 7): a sandbox request must never become a real order. */
function checkTokensOfOneEnvironment(accepted: readonly AcceptedToken[]): void {
  for (const [index, { token, at, listener }] of accepted.entries()) {
    const { environment } = listener;
    const equal = accepted.slice(0, index).filter((other) => other.token.equals(token));
    const foreign = equal.find((other) => other.listener.environment !== environment)?.listener.environment;
    const twin = equal.find((other) => other.listener === listener);
    if (foreign !== undefined) {
      const fix = `give the callers of environment ${environment} their own`;
      at.report(`the token also opens environment ${foreign}`, fix, "hidden");
    } else if (twin !== undefined) {
      const message = `this is the same token as ${formatPath(twin.at.path)}`;
      at.warn("caller_token_twice", message, "put another one there, or leave it out");
    }
  }
}

/** Where a configuration's text has the admin port; the rest of it is not checked, so it may be wrong elsewhere. */
export function readAdmin(text: string): Read<Bind> {
  const { value, yamlProblems } = readDocument(text);
  if (yamlProblems.length > 0) return { fix: "correct the YAML" };
  const bind = valueAt(valueAt(value, "admin"), "bind");
  return typeof bind === "string" ? readBind(bind) : { fix: 'write admin: { bind: ":7412" }' };
}

function valueAt(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}
