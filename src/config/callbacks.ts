import * as z from "zod";
import { type Address, withoutBrackets } from "../model/environment.ts";
import { type Bind, describeBind } from "../model/listener.ts";
import { listNames } from "../model/names.ts";
import { defaultExempt, exemptNames } from "../signing/parameter-rules.ts";
import { callersMtls } from "./callers/caller-schema.ts";
import type { CallbackListenerConfig } from "./config.ts";
import type { RawEnvironment } from "./environment-schema.ts";
import { bind, duration, flag, listOf, mapping, parameterName, plainName, text, tlsFiles, url } from "./fields.ts";
import type { LoadContext } from "./load-context.ts";
import { checkExempt } from "./sites.ts";
import { loadCallersTls, loadTls } from "./tls.ts";
import { isLocal, isLoopback } from "./values.ts";

const application = mapping("The application that genuine callbacks are handed to.", {
  url: url("http://127.0.0.1:8080/callbacks").describe(
    "Its own URL for callbacks; the query of a callback is added. Other than on loopback it is https.",
  ),
  timeout: duration("10s", 100, 60_000).describe(
    "From the complete callback to the end of the application's answer, within timeouts.request; 100ms to 60s.",
  ),
  tls: tlsFiles.prefault({}).describe("TLS towards the application. Certificates are always verified."),
  allowPlaintext: flag(false).describe(
    "Allow http:// beyond loopback: anyone in between can read callbacks, and forge `Countersign-Verified`.",
  ),
});

const mtls = callersMtls
  .extend({
    caFile: text.describe("PEM file of the authorities that certificates of callers must come from; no others count."),
  })
  .describe("TLS with whatever calls here, such as an ingress, which proves itself with a certificate.");

export const callbackListener = mapping("A place where the service calls.", {
  bind: bind("127.0.0.1:7414"),
  environment: plainName.describe("The environment whose sites are called back; their keys verify (spec 5.3, 6)."),
  application,
  exempt: listOf(parameterName)
    .default([...defaultExempt])
    .describe(
      "Names that the service does not sign (spec 5.2 step 1), and so nothing vouches for; signature never is. Default: format, signature, call.",
    ),
  window: duration("300s", 10_000, 3_600_000).describe(
    "How far a callback's timestamp may be from this machine's clock, either way; 10s to 3600s.",
  ),
  replay: z
    .enum(["strict", "best_effort"])
    .default("strict")
    .describe(
      "What happens while what was delivered before cannot be looked up. strict: 503, so that the service repeats. best_effort: the callback passes, and is counted.",
    ),
  mtls: mtls.optional(),
});

type RawCallbackListener = z.output<typeof callbackListener>;
type RawEnvironments = Readonly<Record<string, RawEnvironment>>;

/**
 * Checks and loads where the service calls.
 * @param requestMs `timeouts.request`
 * @param context of `callbacks`
 */
export async function loadCallbacks(
  raw: readonly RawCallbackListener[],
  environments: RawEnvironments,
  requestMs: number,
  context: LoadContext,
): Promise<CallbackListenerConfig[]> {
  const listeners: CallbackListenerConfig[] = [];
  for (const [listener, at] of context.each(raw)) {
    const { bind, environment, application, exempt, window: windowMs, replay, mtls } = listener;
    checkEnvironment(environment, environments, at.in("environment"));
    checkApplication(listener, at.in("application", "url"));
    checkExempt(exempt, at.in("exempt"));
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
      tls: mtls && (await loadCallersTls(mtls, at.in("mtls"))),
    });
    if (isLocal(bind) || mtls !== undefined) continue;
    const fix = "let it be reached through an ingress with TLS only, or use mtls";
    at.in("bind").warn("callbacks_in_plain_text", "callbacks go over the network in plain text", fix);
  }
  return listeners;
}

/** By what is written: a key that cannot be read is a problem of its own. */
function checkEnvironment(name: string, environments: RawEnvironments, context: LoadContext): void {
  const names = Object.keys(environments);
  const parents = Object.entries(environments[name]?.sites ?? {});
  const sites = [...parents, ...parents.flatMap(([, { children = {} }]) => Object.entries(children))];
  if (names.length > 0 && !names.includes(name)) {
    context.report("there is no such environment", `name one of: ${names.join(", ")}`);
  }
  const without = sites.filter(([, { keys = [] }]) => keys.length === 0).map(([identifier]) => identifier);
  const fix = "add the keys of the site's portal; with auth: [oauth], or credentials, they are for callbacks only";
  if (sites.length > 0 && without.length === sites.length) {
    context.report("no site of this environment has keys, so no callback could be verified (spec 5.1)", fix);
  } else if (without.length > 0) {
    const message = `sites without keys have every callback refused: ${listNames(without)}`;
    context.warn("callbacks_without_keys", message, fix);
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

function leadsTo(url: Address, bind: Bind): boolean {
  if (bind.kind === "unix" || bind.port === 0 || bind.port !== url.port) return false;
  const host = withoutBrackets(url.host);
  return host === bind.host || (isLoopback(url) && (bind.host === "" || isLocal(bind)));
}
