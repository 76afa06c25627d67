import { type CallbackForm, readCallback } from "../callbacks/parameters.ts";
import { NotGenuine, verifyCallback } from "../callbacks/verify.ts";
import type { CallbackListenerConfig, Config } from "../config/config.ts";
import { dropNewline } from "../config/load-context.ts";
import { systemClock } from "../model/clock.ts";
import type { Environment } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import { describeBind } from "../model/listener.ts";
import { stringToSign } from "../signing/hmac.ts";
import { exitCodes, usageFailure } from "./command.ts";
import { readStandardInput } from "./input.ts";
import { print, printJson } from "./terminal.ts";

export const callbackForms: readonly CallbackForm[] = ["json", "form", "query"];

/** What a callback is found to be. No signature is in it: one that is right would make a forgery genuine. */
interface Verdict {
  readonly listener: string;
  readonly isGenuine: boolean;
  /** Why it is not, or cannot be read: the log's `cause` or the failure's code. */
  readonly reason?: string;
  readonly detail?: string;
  readonly site?: string | undefined;
  /** The key that verifies it. */
  readonly key?: string;
  /** Keys that do not. */
  readonly keys?: readonly string[];
  readonly stringToSign?: string;
}

/** Says what the listener of an environment would make of the callback on standard input; the application gets nothing. */
export async function previewCallback(
  form: CallbackForm,
  environment: Environment,
  config: Config,
  options: { readonly listener?: string; readonly json?: boolean },
): Promise<void> {
  const listener = pickListener(config, environment, options.listener);
  const input = dropNewline(await readStandardInput(`a callback (${form})`));
  const verdict = evaluate(form, input, listener, environment);
  if (options.json === true) printJson(verdict);
  else printVerdict(verdict);
  if (!verdict.isGenuine) process.exitCode = exitCodes.no;
}

function pickListener({ callbacks = [] }: Config, { name }: Environment, wanted?: string): CallbackListenerConfig {
  const own = callbacks.filter(({ environment }) => environment === name);
  const binds = own.map(({ bind }) => describeBind(bind));
  if (binds.length === 0) throw usageFailure(`No listener for callbacks of ${name} is configured (callbacks).`);
  const found = wanted === undefined && own.length === 1 ? own[0] : own[binds.indexOf(wanted ?? "")];
  if (found === undefined) throw usageFailure(`Name the listener with --listener: ${binds.join(" or ")}.`);
  return found;
}

function evaluate(
  form: CallbackForm,
  input: Uint8Array,
  { bind, exempt, windowMs }: CallbackListenerConfig,
  environment: Environment,
): Verdict {
  const listener = describeBind(bind);
  const isQuery = form === "query";
  const query = isQuery ? Buffer.from(input).toString("latin1").replace(/^\?/, "") : undefined;
  let parameters: ReadonlyMap<string, string>;
  try {
    parameters = readCallback(form, query, isQuery ? new Uint8Array() : input);
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    return { listener, isGenuine: false, reason: error.code, detail: error.message };
  }
  const named = Array.from(parameters, ([name, value]) => ({ name, value }));
  const signed = { listener, stringToSign: stringToSign(named, exempt) };
  try {
    const { site, key } = verifyCallback(parameters, { environment, exempt, windowMs }, systemClock.wallMs());
    return { ...signed, isGenuine: true, site: site.identifier, key: key.identifier };
  } catch (error) {
    if (!(error instanceof NotGenuine)) throw error;
    const keys = error.site?.keys.map(({ identifier }) => identifier) ?? [];
    return { ...signed, isGenuine: false, reason: error.reason, site: error.site?.identifier, keys };
  }
}

function printVerdict({ listener, isGenuine, reason, detail, site, key, keys, stringToSign: text }: Verdict): void {
  if (isGenuine) print(`${listener}: genuine, of ${site}; the application gets it with Countersign-Verified: ${key}`);
  else print(`${listener}: refused, ${reason}${detail === undefined ? "" : `: ${detail}`}`);
  if (site !== undefined && keys !== undefined) print(`keys of ${site}: ${keys.join(", ") || "none"}`);
  if (text !== undefined) print(`\nstring to sign (HMAC-SHA256):\n${text}`);
}
