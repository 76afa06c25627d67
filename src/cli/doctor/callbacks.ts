import type { CallbackListenerConfig } from "../../config/config.ts";
import { type Environment, withoutBrackets } from "../../model/environment.ts";
import { describeBind } from "../../model/listener.ts";
import { type Check, type CheckResult, ok, type Run, timed, warn } from "./check.ts";
import { checkConnection, type Destination } from "./tls.ts";

const longestConnectMs = 5_000;
const mostShown = 3;

/** Whether what callbacks rest on is there: keys that verify, and an application that takes connections. It gets none. */
export async function checkCallbacks(run: Run): Promise<Check[]> {
  const { callbacks = [], environments } = run.config;
  const checks = callbacks.map(async (listener, index) => {
    const environment = environments.get(listener.environment);
    const about = { topic: "callback" as const, environment: listener.environment };
    const subject = describeBind(listener.bind);
    const keys = environment === undefined ? [] : [{ ...about, subject, ...checkKeys(environment), tookMs: 0 }];
    const { host, port } = listener.application.url;
    const application = { ...about, subject: `application ${host}:${port}` };
    return [...keys, await timed(run, application, () => checkApplication(listener, index, run))];
  });
  return (await Promise.all(checks)).flat();
}

/** A callback is signed with its site's default key (spec 5.3). */
function checkKeys({ sites }: Environment): CheckResult {
  const all = [...sites.values()];
  const without = all.filter(({ defaultKey }) => defaultKey === undefined).map(({ identifier }) => identifier);
  if (without.length === 0)
    return ok(`${all.length === 1 ? "its site has a default key" : `all ${all.length} sites have a default key`}`);
  const more = without.length > mostShown ? ` and ${without.length - mostShown} more` : "";
  const names = `${without.slice(0, mostShown).join(", ")}${more}`;
  return warn(`callbacks of ${names} are refused: no default key`, "add the keys that the site's portal shows");
}

/** Connects as the proxy does, and closes. */
function checkApplication(
  { application: { url, tls } }: CallbackListenerConfig,
  index: number,
  run: Run,
): Promise<CheckResult> {
  const path = `callbacks[${index}].application`;
  const to: Destination = {
    place: `${url.host}:${url.port}`,
    host: withoutBrackets(url.host),
    setting: `${path}.url`,
    tlsSetting: `${path}.tls`,
    connectMs: Math.min(run.config.timeouts.connectMs, longestConnectMs),
  };
  return checkConnection(url, tls, to, run);
}
