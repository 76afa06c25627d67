import { listNames } from "../../model/names.ts";
import { exemptNames } from "../../parameters/signature.ts";
import type { CallbackListenerConfig } from "../config.ts";
import type { RawEnvironment } from "../form/environment.ts";
import type { RawCallbackListener } from "../form/listeners.ts";
import { isLoopback } from "../form/values.ts";
import type { LoadContext } from "./load-context.ts";
import { checkExempt, withChildren } from "./sites.ts";
import { loadCallersTls, loadTls } from "./tls.ts";

type RawEnvironments = Readonly<Record<string, RawEnvironment>>;

/**
 * Checks and loads the listeners for callbacks.
 * @param isShared whether replicas share the record of delivered callbacks
 * @param context of `callbacks`
 */
export async function loadCallbacks(
  raw: readonly RawCallbackListener[],
  environments: RawEnvironments,
  isShared: boolean,
  context: LoadContext,
): Promise<CallbackListenerConfig[]> {
  const listeners: CallbackListenerConfig[] = [];
  for (const [listener, at] of context.each(raw)) {
    const {
      bind,
      environment,
      application,
      exempt,
      remember: rememberMs,
      replay = defaultReplay(isShared),
      mtls,
    } = listener;
    checkEnvironment(environment, environments, at.in("environment"));
    checkApplication(listener, at.in("application", "url"));
    checkExempt(exempt, at.in("exempt"));
    const { url, timeout: timeoutMs } = application;
    listeners.push({
      bind,
      environment,
      application: { url, timeoutMs, tls: await loadTls(application.tls, at.in("application", "tls")) },
      exempt: exemptNames(exempt),
      rememberMs,
      replay,
      tls: mtls && (await loadCallersTls(mtls, at.in("mtls"))),
    });
    if (replay === "strict" && !isShared) {
      const message = "each restart forgets what was delivered, so every callback that was signed before it is refused";
      at.in("replay").warn("callbacks_forgotten", message, "use tokens: { cache: redis }, or leave replay out");
    }
  }
  return listeners;
}

/** Without Redis, `strict` would refuse every callback that was signed before the process started. */
export function defaultReplay(isShared: boolean): CallbackListenerConfig["replay"] {
  return isShared ? "strict" : "best_effort";
}

/** Looks only at what is written: a key that cannot be read is reported elsewhere. */
function checkEnvironment(name: string, environments: RawEnvironments, context: LoadContext): void {
  const names = Object.keys(environments);
  const sites = withChildren(environments[name]?.sites ?? {});
  context.reportUnlessOneOf(names, name, "environment");
  const without = sites.filter(([, { keys = [] }]) => keys.length === 0).map(([identifier]) => identifier);
  const fix = "add the keys of the site's portal; with auth: [oauth], or credentials, they are for callbacks only";
  if (sites.length > 0 && without.length === sites.length) {
    context.report("no site of this environment has keys, so no callback could be verified (spec 5.1)", fix);
  } else if (without.length > 0) {
    const message = `sites without keys have every callback refused: ${listNames(without)}`;
    context.warn("callbacks_without_keys", message, fix);
  }
}

function checkApplication({ application }: RawCallbackListener, context: LoadContext): void {
  const { url, allowPlaintext } = application;
  if (url.scheme === "http" && !allowPlaintext && !isLoopback(url)) {
    const message = "http:// would send callbacks in plain text, and anyone in between could forge them";
    context.report(message, "use https://, an address on loopback, or allowPlaintext: true");
  }
}
