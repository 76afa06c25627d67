import { Command, Option } from "commander";
import { type CallbackForm, readCallback } from "../callbacks/parameters.ts";
import { checkAge, NotGenuine, verifyCallback } from "../callbacks/verify.ts";
import type { CallbackListenerConfig, Config } from "../config/config.ts";
import { dropNewline } from "../config/rules/load-context.ts";
import { systemClock } from "../model/clock.ts";
import { withAddresses } from "../model/documents.ts";
import type { Environment } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import type { Event, ForgeryReason } from "../model/events.ts";
import { describeBind } from "../model/listener.ts";
import { listNames } from "../model/names.ts";
import { Secret } from "../model/secret.ts";
import { explainCallback } from "../model/service-answer.ts";
import type { TokenSource } from "../oauth/token.ts";
import { readParameters } from "../parameters/parameters.ts";
import { missingNames, stringToSign } from "../parameters/signature.ts";
import type { Answer, UpstreamRequest } from "../serving/messages.ts";
import { authOption, configOption, exampleOf, exitCodes, refuseWithout, usageFailure } from "./command.ts";
import { readStandardInput } from "./input.ts";
import { loadOrRefuse } from "./load-or-refuse.ts";
import { pickEnvironment, problemOf, serveOne } from "./serve-one.ts";
import { print, printError, printJson } from "./terminal.ts";

interface Options {
  readonly config: string;
  readonly environment?: string;
  readonly operation: string;
  readonly site?: string;
  readonly auth?: string;
  readonly callback?: CallbackForm;
  readonly listener?: string;
  readonly json?: boolean;
}

const callbackForms: readonly CallbackForm[] = ["json", "form", "query"];

export function createCommand(): Command {
  return new Command("preview")
    .description(
      "Print the exact request that a body on standard input would become, and the string that is signed; nothing is sent.",
    )
    .addOption(configOption())
    .option("--environment <name>", "environment; not needed if there is only one")
    .option("--operation <name>", "operation to call", "create_order")
    .option("--site <identifier>", "S… or K…, as in the header Countersign-Site")
    .addOption(authOption("authentication"))
    .addOption(
      new Option(
        "--callback <form>",
        "read a callback instead, its body or its query, and print whether a listener for callbacks accepts it",
      )
        .choices(callbackForms)
        .conflicts(["operation", "site", "auth"]),
    )
    .option("--listener <bind>", "bind of the listener that gets the callback; not needed if there is only one")
    .option("--json", "print the result as JSON")
    .addHelpText(...exampleOf(`echo '{"order_amount":10}' | countersign preview --operation create_order`))
    .action(preview);
}

/** Runs the request handler of `serve` with a `send` that keeps the request; the request is then printed, not sent. */
async function preview(options: Options): Promise<void> {
  if (options.callback === undefined) refuseWithout("callback", { listener: options.listener });
  const { config } = await loadOrRefuse(options.config);
  const environment = pickEnvironment(config, options.environment);
  if (options.callback !== undefined) return previewCallback(options.callback, environment, config, options);
  const body = await readStandardInput("the body of a request, a JSON object,");
  let sent: UpstreamRequest | undefined;
  const response = await serveOne({ ...options, environment, body }, config, {
    newRequestId: () => "preview",
    report: printEvent,
    tokensOf: () => maskedTokens,
    async send(attempt) {
      sent = attempt;
      return { status: 200, headers: [], body: new Uint8Array(), discard: () => {} };
    },
  });
  if (sent !== undefined) printRequest(sent, environment, options.json === true);
  else if (response !== undefined) printRefusal(response, options.json === true);
}

/** Prints the findings that `serve` would log. */
function printEvent(event: Event): void {
  if (event.kind === "character_warned") {
    const { parameter, position } = event;
    printError(`The value of ${parameter} has a character at position ${position} that the service may refuse.`);
  }
  if (event.kind === "request_finished" && event.callerSignature !== undefined) {
    printError(`The caller's own signature, which is dropped: ${event.callerSignature}.`);
  }
  if (event.kind === "defect") printError(`A defect in countersign: ${event.error}`);
}

const token = {
  secret: new Secret("[token]"),
  id: "preview",
  credential: "preview",
  issuedAtMs: 0,
  issuedWithinMs: 0,
  lifetimeMs: 0,
  isRepeated: false,
};
const maskedTokens: TokenSource = {
  get: async () => token,
  accepted: () => {},
  replace: async () => "no_token",
  cured: () => {},
  refused: () => {},
  outage: () => undefined,
};

/** The string to sign, computed from the body that is sent, and the K… of the key; undefined with OAuth. */
function explainSignature(body: string, { sites, siteOfKey }: Environment) {
  const parameters = readParameters(Buffer.from(body));
  const identifier = parameters.get("site_identifier")?.value ?? "";
  const site = sites.get(identifier) ?? siteOfKey.get(identifier);
  if (site === undefined || !parameters.has("signature")) return undefined;
  const key = siteOfKey.has(identifier) ? identifier : site.defaultKey?.identifier;
  return { key, stringToSign: stringToSign([...parameters.values()], site.exempt) };
}

function printRequest({ path, headers, render }: UpstreamRequest, environment: Environment, asJson: boolean): void {
  const body = render();
  const signed = explainSignature(body, environment);
  const url = `${environment.baseUrl.origin}${path}`;
  const pairs = headers.flatMap((name, index) => (index % 2 === 0 ? [[name, headers[index + 1]] as const] : []));
  if (asJson) {
    printJson({ method: "POST", url, headers: Object.fromEntries(pairs), body, ...signed });
    return;
  }
  print(`POST ${url}`);
  for (const [name, value] of pairs) print(`${name}: ${value}`);
  print(`content-length: ${Buffer.byteLength(body)}\n\n${body}`);
  if (signed !== undefined) print(`\nstring to sign (HMAC-SHA256, key ${signed.key}):\n${signed.stringToSign}`);
}

function printRefusal(refusal: Answer, asJson: boolean): void {
  const problem = problemOf(refusal);
  if (asJson) printJson(problem);
  else print(`${problem.status} ${problem.code}: ${problem.detail}`);
  process.exitCode = exitCodes.no;
}

/** The verdict on a callback. It holds no signature: the right signature would make a forgery genuine. */
interface Verdict {
  readonly listener: string;
  readonly isGenuine: boolean;
  /** Why the callback is refused: the log's `cause` or the failure's code. */
  readonly reason?: string;
  readonly detail?: string;
  readonly site?: string | undefined;
  /** The key that verifies the callback. */
  readonly key?: string;
  /** The site's keys, if none of them verifies the callback. */
  readonly keys?: readonly string[];
  readonly stringToSign?: string;
}

/** Prints whether the environment's listener would accept the callback on standard input; the application gets nothing. */
async function previewCallback(
  form: CallbackForm,
  environment: Environment,
  config: Config,
  options: Options,
): Promise<void> {
  const listener = pickListener(config, environment, options.listener);
  const input = dropNewline(await readStandardInput(`a callback (${form})`));
  const verdict = evaluate(form, input, listener, environment, config);
  if (options.json === true) printJson(verdict);
  else printVerdict(verdict);
  if (verdict.reason !== undefined) process.exitCode = exitCodes.no;
}

function pickListener({ callbacks }: Config, { name }: Environment, wanted?: string): CallbackListenerConfig {
  const own = callbacks.filter(({ environment }) => environment === name);
  const binds = own.map(({ bind }) => describeBind(bind));
  if (binds.length === 0) throw usageFailure(`No listener for callbacks of ${name} is configured (callbacks).`);
  const found = wanted === undefined && own.length === 1 ? own[0] : own[binds.indexOf(wanted ?? "")];
  if (found === undefined) throw usageFailure(`Name the listener with --listener: ${binds.join(" or ")}.`);
  return found;
}

function evaluate(
  form: CallbackForm,
  input: Buffer,
  { bind, exempt, rememberMs }: CallbackListenerConfig,
  environment: Environment,
  { docsUrl }: Config,
): Verdict {
  let verdict: Verdict = { listener: describeBind(bind), isGenuine: false };
  let parameters: ReadonlyMap<string, string> = new Map();
  const query = form === "query" ? input.toString("latin1").replace(/^\?/, "") : undefined;
  try {
    parameters = readCallback(form, query, query === undefined ? input : new Uint8Array());
    const named = Array.from(parameters, ([name, value]) => ({ name, value }));
    verdict = { ...verdict, stringToSign: stringToSign(named, exempt) };
    const nowMs = systemClock.wallMs();
    const callback = verifyCallback(parameters, { environment, exempt }, nowMs);
    verdict = { ...verdict, isGenuine: true, site: callback.site.identifier, key: callback.key.identifier };
    checkAge(callback, rememberMs, nowMs);
    return verdict;
  } catch (error) {
    if (error instanceof NotGenuine) {
      const keys = error.site?.keys.map(({ identifier }) => identifier) ?? [];
      const detail = withAddresses(explainForgery(error.reason, parameters, keys, environment), docsUrl);
      return { ...verdict, reason: error.reason, detail, site: error.site?.identifier, keys };
    }
    if (error instanceof ProxyError) return { ...verdict, reason: error.code, detail: error.message };
    throw error;
  }
}

/** What is wrong, and what to do about it: more than the sender of a forgery is told. */
function explainForgery(
  reason: ForgeryReason,
  parameters: ReadonlyMap<string, string>,
  keys: readonly string[],
  { sites }: Environment,
): string {
  const { detail, fix } = explainCallback(reason);
  const hasForm = /^[0-9a-f]{64}$/.test(parameters.get("signature") ?? "");
  const facts: { readonly [Reason in ForgeryReason]?: string } = {
    parameter_missing: ` (no ${missingNames(parameters).join(", ")})`,
    site_unknown: ` (this listener knows ${listNames([...sites.keys()])} and their keys)`,
    signature_wrong: hasForm
      ? ` (${listNames(keys)}; docs/callbacks.md says what is exempt)`
      : " (a signature has 64 lower-case hexadecimal digits)",
  };
  return `${detail}${facts[reason] ?? ""}; ${fix}`;
}

function printVerdict({ listener, isGenuine, reason, detail, site, key, keys, stringToSign: text }: Verdict): void {
  const genuine = `genuine, of ${site}; the application gets it with Countersign-Verified: ${key}`;
  const refused = `${isGenuine ? "genuine, and " : ""}refused, ${reason}${detail === undefined ? "" : `: ${detail}`}`;
  print(`${listener}: ${reason === undefined ? genuine : refused}`);
  if (site !== undefined && keys !== undefined) print(`keys of ${site}: ${keys.join(", ") || "none"}`);
  if (text !== undefined) print(`\nstring to sign (HMAC-SHA256):\n${text}`);
}
