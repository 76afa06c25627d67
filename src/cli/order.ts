import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { Command, Option } from "commander";
import type { UnknownOutcome } from "../adapters/stats/stats.ts";
import { systemDependencies } from "../app/dependencies.ts";
import { onceRules } from "../app/handlers.ts";
import { openTokenBackend } from "../app/token-backend.ts";
import type { Config } from "../config/config.ts";
import { systemClock } from "../model/clock.ts";
import { ProxyError } from "../model/errors.ts";
import type { OnceResult } from "../model/events.ts";
import { type Bind, describeBind, settlingCommand } from "../model/listener.ts";
import { endOf, formatTime, nameOf, openNote, referenceIn, sharedOf } from "../orders/once.ts";
import { checkOnceKey } from "../serving/request-options.ts";
import { chooseSite } from "../serving/site.ts";
import { askAdmin } from "./ask.ts";
import { CommandFailure, defaultConfigFile, exitCodes, inOptions, refuseWithout, usageFailure } from "./command.ts";
import { loadOrRefuse } from "./load-or-refuse.ts";
import { pickEnvironment } from "./serve-one.ts";
import { escapeControls, print, printError } from "./terminal.ts";

interface Options {
  readonly config?: string;
  readonly reference?: string;
  readonly request?: string;
  readonly key?: string;
  readonly environment?: string;
  readonly site?: string;
}

/** One thing that is known of an order. */
interface Told {
  /** ISO 8601; undefined: now. */
  readonly at: string | undefined;
  readonly text: string;
  /** What to do about it. */
  readonly next?: readonly string[];
}

/** A line of the log, as far as it is used. Foreign text in it is escaped before it is printed. */
interface Line {
  readonly event: string;
  readonly time: string;
  readonly message: string;
  readonly requestId: string;
  readonly reference?: string;
  readonly listener?: string;
  readonly caller?: string;
  readonly durationMs?: number;
  readonly once?: OnceResult;
  readonly onceFirst?: string;
  readonly note?: string;
}

const answerMs = 5_000;
const retryPauseMs = 100;

export function createCommand(): Command {
  return new Command("order")
    .description("Tell the story of one order: what serve, Redis and the log know of it. Nothing is sent or changed.")
    .addOption(
      new Option("--config <file>", "ask Redis and the running serve of this configuration").env("COUNTERSIGN_CONFIG"),
    )
    .option("--reference <text>", "the order's Countersign-Reference")
    .option(
      "--request <id>",
      "the id of one of its requests (Countersign-Request-Id), for an order without a reference",
    )
    .option("--key <text>", `the order's Countersign-Once; asks as --config ${defaultConfigFile}, unless that is given`)
    .option("--environment <name>", "environment of --key; not needed if there is only one")
    .option("--site <identifier>", "site of --key; not needed for the default site")
    .addHelpText("after", notes)
    .action(tell);
}

const notes = `
Without --config and --key the log is read from standard input:
  kubectl logs POD -c countersign | countersign order --reference cart-1
With one of them, Redis tells the state of the key, and the status port the
unknown outcomes of that one process. None of them knows a parameter's value.

Exit code 0: something is known. 1: nothing, or no answer. 2: usage.
`;

async function tell(options: Options): Promise<void> {
  const { key, reference, request, environment, site } = options;
  const names = [key, reference, request].filter((name) => name !== undefined);
  if (names.length === 0 || reference === "" || request === "")
    throw usageFailure("Name the order by --reference, --request or --key.");
  if (key === undefined) refuseWithout("key", { environment, site });
  const { config: file = key === undefined ? undefined : defaultConfigFile } = options;
  const story = file === undefined ? await readLog(options) : await askAround(file, options);
  const lines = story.toSorted(byTime).map(({ at, text }) => `${at ?? "now".padEnd(24)}  ${text}`);
  for (const line of [...lines, ...story.flatMap(({ next = [] }) => next)]) print(escapeControls(line));
  if (story.length === 0) {
    print("Nothing is known of it here.");
    process.exitCode = exitCodes.no;
  }
  if (file !== undefined && key === undefined)
    print("Requests that were answered are not listed here: see the log, or their --key.");
}

function byTime({ at: one = "now" }: Told, { at: other = "now" }: Told): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** The requests with this reference or id, those that repeated their keys, and what became of them. */
async function readLog({ reference, request }: Options): Promise<readonly Told[]> {
  if (process.stdin.isTTY) printError("Waiting for the log on standard input. Ctrl-D on a new line ends it.");
  const ids = new Set<string>();
  const kept: Line[] = [];
  let isLog = false;
  for await (const text of createInterface({ input: process.stdin })) {
    const line = readLine(text);
    isLog ||= line !== undefined;
    if (line === undefined || !tellers.has(line.event)) continue;
    const isNamed = line.requestId === request || (reference !== undefined && line.reference === reference);
    if (isNamed) ids.add(line.requestId);
    // The lines of other replicas may come in any order.
    if (isNamed || line.onceFirst !== undefined) kept.push(line);
  }
  if (!isLog)
    printError("No line is one of a request in JSON, which serve writes unless standard output is a terminal.");
  return kept.filter((line) => isAbout(line, ids)).flatMap((line) => tellers.get(line.event)?.(line) ?? []);
}

function isAbout({ requestId, onceFirst = "" }: Line, ids: ReadonlySet<string>): boolean {
  return ids.has(requestId) || ids.has(onceFirst);
}

/** A log line, also behind a prefix of a log collector; undefined for any other text. */
function readLine(text: string): Line | undefined {
  try {
    const line = JSON.parse(text.slice(text.indexOf("{")));
    return ["event", "time", "message", "requestId"].every((name) => typeof line[name] === "string") ? line : undefined;
  } catch {
    return undefined;
  }
}

type Tell = (line: Line) => readonly Told[];

const tellers: ReadonlyMap<string, Tell> = new Map<string, Tell>([
  ["request_finished", tellRequest],
  ["upstream_unauthorized", ({ time: at, requestId, message }) => [{ at, text: `request ${requestId}: ${message}` }]],
  ["outcome_settled", ({ time: at, message, note }) => [{ at, text: `${message}${inBrackets([note])}` }]],
]);

function tellRequest(line: Line): readonly Told[] {
  const { time, requestId, message, listener, caller, durationMs = 0, once, onceFirst } = line;
  const by = caller === undefined ? "" : ` from ${caller}`;
  const first = onceFirst === undefined ? "" : ` (request ${onceFirst})`;
  const key = once === undefined ? "without a once key" : `${onceInWords[once]}${first}`;
  const came = Date.parse(time) - durationMs;
  return [
    {
      at: Number.isFinite(came) ? new Date(came).toISOString() : time,
      text: `request ${requestId} came${by} at ${listener}`,
    },
    { at: time, text: `request ${requestId} was told: ${message}; ${key}` },
  ];
}

const onceInWords: Readonly<Record<OnceResult, string>> = {
  recorded: "its key keeps the result",
  freed: "its key is free",
  unrecorded: "its key reads as unknown, since Redis did not take the result",
  replayed: "it got the answer of the first request with its key",
  already_sent: "its key was used before",
  in_progress: "the first request with its key was under way",
  key_reused: "its key belongs to another request",
  unavailable: "Redis could not keep its key",
  looked_up: "it looked the key up",
};

/** Asks Redis for the key, and serve's status port for what is unknown. */
async function askAround(file: string, options: Options): Promise<readonly Told[]> {
  const { config } = await loadOrRefuse(file);
  const inRedis = options.key === undefined ? undefined : await askRedis(config, options.key, options);
  const { request, reference = inRedis?.reference } = options;
  const listed = await askStatus(config);
  const known = listed.filter((each) => {
    const isNamed = each.requestId === inRedis?.requestId || each.requestId === request;
    return isNamed || (reference !== undefined && each.reference === reference);
  });
  return [...(inRedis?.told ?? []), ...known.flatMap((each) => tellListed(each, config))];
}

async function askRedis(config: Config, key: string, { environment: name, site: identifier }: Options) {
  const environment = pickEnvironment(config, name);
  const backend = await openTokenBackend(config, () => {}, systemDependencies);
  try {
    checkOnceKey(key);
    const { site } = chooseSite(environment, { site: identifier, auth: undefined }, undefined);
    const { claims, sealing } = sharedOf(onceRules(config, backend.claims));
    const claimName = nameOf(key, environment, site);
    const found = await patiently(() => claims.find({ kind: "once", key: claimName }));
    if (found === undefined) {
      print("Redis knows of no request with this key: one with it would be sent.");
      return undefined;
    }
    const { holder: requestId, atMs, untilMs } = found;
    const reference = referenceIn(found.note);
    const end = endOf(found);
    const more =
      end === undefined ? [`until ${formatTime(untilMs)}`] : [end.status, end.why, openNote(end, claimName, sealing)];
    const told = [
      { at: formatTime(atMs), text: `request ${requestId} claimed the key; its reference: ${reference ?? "none"}` },
      { at: undefined, text: `Redis: the key is ${end?.outcome ?? "in_progress"}${inBrackets(more)}` },
    ];
    return { requestId, reference, told };
  } catch (error) {
    if (error instanceof ProxyError) throw usageFailure(inOptions(error.message));
    const [cache] = backend.snapshot();
    const why = `Redis at ${cache?.address} does not answer (${cache?.cause ?? cache?.failure ?? "UNKNOWN"})`;
    throw new CommandFailure(`${why}: ask again, or ask doctor.`, exitCodes.no);
  } finally {
    await backend.close();
  }
}

/** Asks Redis again while it fails: a person may wait longer for it than an order. */
async function patiently<Found>(find: () => Promise<Found>): Promise<Found> {
  const untilMs = systemClock.nowMs() + answerMs;
  for (;;) {
    try {
      return await find();
    } catch (error) {
      if (systemClock.nowMs() >= untilMs) throw error;
      // The timers of `systemClock` keep no process running.
      await setTimeout(retryPauseMs);
    }
  }
}

function inBrackets(parts: readonly (string | number | undefined)[]): string {
  const known = parts.filter((part) => part !== undefined);
  return known.length === 0 ? "" : ` (${known.join(", ")})`;
}

/** The unknown outcomes of the running process; none if it does not answer, which is said. */
async function askStatus({ status: bind }: Config): Promise<readonly UnknownOutcome[]> {
  if (bind === undefined) {
    printError("serve is not asked: status.bind is not configured.");
    return [];
  }
  const page = await askAdmin(bind, "/status", answerMs, systemClock);
  if (typeof page === "object" && page.status === 200) return JSON.parse(page.text).unknownOutcomes;
  printError(`serve gives no answer at ${describeBind(bind)} (${typeof page === "string" ? page : page.status}).`);
  return [];
}

function tellListed(outcome: UnknownOutcome, { status: bind }: Config): readonly Told[] {
  const { at, requestId, operation, site, code, status, settled } = outcome;
  const end = code ?? status ?? "caller left";
  const told = { at, text: `request ${requestId}: ${operation} for ${site} ended unknown (${end}): it may exist` };
  if (settled === undefined) return [{ ...told, next: bind === undefined ? [] : settling(bind, requestId) }];
  const { found, note, key } = settled;
  const text = `request ${requestId} was settled: ${found ? "found" : "not found"}${inBrackets([note, key && `its key is ${key}`])}`;
  return [told, { at: settled.at, text }];
}

/** What to type once the outcome is known. */
function settling(bind: Bind, requestId: string): readonly string[] {
  const isSocket = bind.kind === "unix";
  const command = settlingCommand(requestId, isSocket ? "localhost" : describeBind(bind));
  return [
    "",
    "Once you know, this settles it; false if there is no order:",
    `  ${command}${isSocket ? ` --unix-socket '${bind.path}'` : ""}`,
  ];
}
