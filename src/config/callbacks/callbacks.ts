import { type Address, type Environment, withoutBrackets } from "../../model/environment.ts";
import { type Bind, describeBind } from "../../model/listener.ts";
import { exemptNames, requiredNames } from "../../signing/parameter-rules.ts";
import type { CallbackListenerConfig } from "../config.ts";
import type { LoadContext } from "../load-context.ts";
import { loadTls } from "../tls.ts";
import { isLocal } from "../values.ts";
import type { RawCallbackListener } from "./callback-schema.ts";

const mostSitesShown = 3;

/**
 * Checks and loads where the service calls.
 * @param requestMs `timeouts.request`
 * @param context of `callbacks`
 */
export async function loadCallbacks(
  raw: readonly RawCallbackListener[],
  environments: ReadonlyMap<string, Environment>,
  requestMs: number,
  context: LoadContext,
): Promise<CallbackListenerConfig[]> {
  const listeners: CallbackListenerConfig[] = [];
  for (const [listener, at] of context.each(raw)) {
    const { bind, environment, application, exempt, window: windowMs, replay, mtls } = listener;
    checkEnvironment(environment, environments, at.in("environment"));
    checkApplication(listener, at.in("application", "url"));
    for (const [name, atName] of at.in("exempt").each(exempt)) {
      const isSigned = (requiredNames as readonly string[]).includes(name);
      if (isSigned) atName.report(`${name} must be signed`, "remove it from exempt (spec 5.2 step 2)");
    }
    const { ca, cert, key } = mtls === undefined ? {} : await loadTls(mtls, at.in("mtls"));
    const { url, timeout: timeoutMs } = application;
    if (timeoutMs > requestMs) {
      const message = `application.timeout (${timeoutMs} ms) is longer than timeouts.request (${requestMs} ms), which bounds callbacks too`;
      at.in("application", "timeout").warn("callback_longer_than_request", message, "write a shorter one");
    }
    listeners.push({
      bind,
      environment,
      application: { url, timeoutMs, tls: await loadTls(application.tls, at.in("application", "tls")) },
      exempt: exemptNames(exempt),
      windowMs,
      replay,
      tls: ca === undefined || cert === undefined || key === undefined ? undefined : { ca, cert, key },
    });
    if (isLocal(bind) || mtls !== undefined) continue;
    const fix = "let it be reached through an ingress with TLS only, or use mtls";
    at.in("bind").warn("callbacks_in_plain_text", "callbacks go over the network in plain text", fix);
  }
  return listeners;
}

function checkEnvironment(name: string, environments: ReadonlyMap<string, Environment>, context: LoadContext): void {
  const sites = [...(environments.get(name)?.sites.values() ?? [])];
  if (environments.size > 0 && !environments.has(name)) {
    context.report("there is no such environment", `name one of: ${[...environments.keys()].join(", ")}`);
  }
  const without = sites.filter(({ keys }) => keys.length === 0).map(({ identifier }) => identifier);
  const fix = "add the keys of the site's portal; with auth: [oauth], or credentials, they are for callbacks only";
  if (sites.length > 0 && without.length === sites.length) {
    context.report("no site of this environment has keys, so no callback could be verified (spec 5.1)", fix);
  } else if (without.length > 0) {
    const more = without.length > mostSitesShown ? ` and ${without.length - mostSitesShown} more` : "";
    const names = `${without.slice(0, mostSitesShown).join(", ")}${more}`;
    context.warn("callbacks_without_keys", `sites without keys have every callback refused: ${names}`, fix);
  }
}

function checkApplication({ bind, application }: RawCallbackListener, context: LoadContext): void {
  const { url, allowPlaintext } = application;
  if (url.scheme === "http" && !allowPlaintext && !isLoopback(url)) {
    const message = "http:// would send callbacks in plain text, and what comes that way could be anyone's";
    context.report(message, "use https://, an address on loopback, or allowPlaintext: true");
  }
  if (leadsTo(url, bind)) {
    const fix = "give the application's own address";
    context.report(`this leads back to the listener itself, ${describeBind(bind)}`, fix);
  }
}

function isLoopback({ host }: Address): boolean {
  return isLocal({ kind: "tcp", host: withoutBrackets(host), port: 0 });
}

function leadsTo(url: Address, bind: Bind): boolean {
  if (bind.kind === "unix" || bind.port === 0 || bind.port !== url.port) return false;
  const host = withoutBrackets(url.host);
  return host === bind.host || (isLoopback(url) && (bind.host === "" || isLocal(bind)));
}
