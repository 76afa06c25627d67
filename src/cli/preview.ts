import { Command, Option } from "commander";
import { tooLarge } from "../adapters/http-server/read-body.ts";
import type { CallbackForm } from "../callbacks/parameters.ts";
import type { Config } from "../config/config.ts";
import type { HeaderLines } from "../http/headers.ts";
import { systemClock } from "../model/clock.ts";
import type { Environment } from "../model/environment.ts";
import type { Event } from "../model/events.ts";
import { Secret } from "../model/secret.ts";
import type { TokenSource } from "../oauth/token.ts";
import { BufferBudget } from "../proxy/buffer-budget.ts";
import { ConcurrencyLimit } from "../proxy/concurrency-limit.ts";
import { createRequestHandler } from "../proxy/handler.ts";
import type { ClientResponse, UpstreamRequest } from "../proxy/messages.ts";
import { readParameters } from "../proxy/parameters.ts";
import { stringToSign } from "../signing/hmac.ts";
import { configOption, exitCodes, loadOrRefuse, usageFailure } from "./command.ts";
import { readStandardInput } from "./input.ts";
import { callbackForms, previewCallback } from "./preview-callback.ts";
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

export function createCommand(): Command {
  return new Command("preview")
    .description(
      "Print the exact request that a body on standard input would become, and the string that is signed; nothing is sent.",
    )
    .addOption(configOption())
    .option("--environment <name>", "environment; not needed where there is only one")
    .option("--operation <name>", "operation to call", "create_order")
    .option("--site <identifier>", "S… or K…, as in the header Countersign-Site")
    .option("--auth <method>", "oauth or hmac, as in the header Countersign-Auth")
    .addOption(
      new Option(
        "--callback <form>",
        "read a callback instead, its body or its query, and print what a listener for callbacks makes of it",
      )
        .choices(callbackForms)
        .conflicts(["site", "auth"]),
    )
    .option("--listener <bind>", "where the callback comes in; not needed where there is only one")
    .option("--json", "print the result as JSON")
    .action(preview);
}

/** The request handler of `serve`, with a `send` that keeps the request, so that it is printed instead. */
async function preview(options: Options): Promise<void> {
  const { config } = await loadOrRefuse(options.config);
  const { bodyBytes } = config.limits;
  const environment = pickEnvironment(config, options.environment);
  if (options.callback !== undefined) return previewCallback(options.callback, environment, config, options);
  const body = await readStandardInput("the body of a request, a JSON object,");
  let sent: UpstreamRequest | undefined;
  let refusal: ClientResponse | undefined;
  const parts = {
    clock: systemClock,
    report: printEvent,
    tokensOf: () => maskedTokens,
    upstreamHeaders: [],
    once: { store: undefined, lifetimeMs: 0 },
    newRequestId: () => "preview",
    requestMs: config.timeouts.requestMs,
    concurrency: new ConcurrencyLimit(1),
    buffers: new BufferBudget(Number.POSITIVE_INFINITY, systemClock),
    async send(attempt: UpstreamRequest) {
      sent = attempt;
      return { status: 200, headers: [], body: new Uint8Array(), discard: () => {} };
    },
  };
  const listener = { environment, hosts: new Set(["localhost"]), url: "http://localhost" };
  await createRequestHandler(parts, listener).handle({
    method: "POST",
    target: `/${options.operation}`,
    headers: describeHeaders(options),
    readBody() {
      if (body.length > bodyBytes) throw tooLarge(bodyBytes);
      return body;
    },
    isClosed: () => false,
    repliedStatus: () => undefined,
    reply(reply) {
      refusal = reply;
      return undefined;
    },
  });
  if (sent !== undefined) printRequest(sent, options.json === true);
  else if (refusal !== undefined) printRefusal(refusal, options.json === true);
}

function pickEnvironment({ environments }: Config, wanted: string | undefined): Environment {
  const [only, ...others] = environments.values();
  const environment = wanted === undefined && others.length === 0 ? only : environments.get(wanted ?? "");
  if (environment !== undefined) return environment;
  throw usageFailure(`Name the environment with --environment: ${[...environments.keys()].join(" or ")}.`);
}

function describeHeaders({ site, auth }: Options): HeaderLines {
  return [
    ...["host", "localhost", "content-type", "application/json"],
    ...(site === undefined ? [] : ["countersign-site", site]),
    ...(auth === undefined ? [] : ["countersign-auth", auth]),
  ];
}

/** What `serve` would log. */
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

const token = { secret: new Secret("[token]"), id: "preview", credential: "preview", issuedAtMs: 0, lifetimeMs: 0 };
const maskedTokens: TokenSource = {
  get: async () => token,
  accepted: () => {},
  replace: async () => undefined,
  cured: () => {},
  refusedAgain: () => {},
};

/** What was signed, read from the body that is sent, and the K… of the key pair; undefined with OAuth. */
function explainSignature(body: string, { sites, siteOfKey }: Environment) {
  const parameters = readParameters(Buffer.from(body));
  const identifier = parameters.get("site_identifier")?.value ?? "";
  const site = sites.get(identifier) ?? siteOfKey.get(identifier);
  if (site === undefined || !parameters.has("signature")) return undefined;
  const key = siteOfKey.has(identifier) ? identifier : site.defaultKey?.identifier;
  return { key, stringToSign: stringToSign([...parameters.values()], site.exempt) };
}

function printRequest({ environment, path, headers, render }: UpstreamRequest, asJson: boolean): void {
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

function printRefusal({ body }: ClientResponse, asJson: boolean): void {
  const problem = JSON.parse(Buffer.from(body as Uint8Array).toString("utf8"));
  if (asJson) printJson(problem);
  else print(`${problem.status} ${problem.code}: ${problem.detail}`);
  process.exitCode = exitCodes.no;
}
