import { randomUUID } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { Command, Option } from "commander";
import { systemDependencies } from "../app/dependencies.ts";
import { openTokenBackend } from "../app/token-backend.ts";
import { openTokens, ownersOf, setsOf } from "../app/token-sources.ts";
import { openUpstreams } from "../app/upstreams.ts";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load.ts";
import { systemClock } from "../model/clock.ts";
import { withAddresses } from "../model/documents.ts";
import { credentialSetsOf } from "../model/environment.ts";
import type { FailureCode } from "../model/errors.ts";
import type { Event, Report, RequestFinished } from "../model/events.ts";
import { listNames } from "../model/names.ts";
import { explainAnswer } from "../model/service-answer.ts";
import type { Answer } from "../serving/messages.ts";
import { authOption, configOption, exitCodes, refuseWithout, usageFailure } from "./command.ts";
import {
  type Check,
  type CheckResult,
  fail,
  type OpenRun,
  ok,
  type Run,
  runMs,
  type SharedSet,
  timed,
  type Verdict,
  warn,
} from "./doctor/check.ts";
import { checkCallers, checkConfig } from "./doctor/config.ts";
import { boundLookUps, checkCallbacks, checkEnvironments, checkTracing } from "./doctor/peers.ts";
import { checkRedis } from "./doctor/redis.ts";
import { checkFormer, checkServe } from "./doctor/serve.ts";
import { checkEncryptionKeys, tokenSample } from "./doctor/token.ts";
import { refusalOf } from "./load-or-refuse.ts";
import { type OneRequest, pickEnvironment, problemOf, serveOne } from "./serve-one.ts";
import { escapeControls, paint, print, printJson } from "./terminal.ts";

interface Options {
  readonly config: string;
  readonly token: boolean;
  readonly allTokens?: boolean;
  readonly send?: string;
  readonly operation?: string;
  readonly environment?: string;
  readonly site?: string;
  readonly auth?: string;
  readonly json?: boolean;
}

export function createCommand(): Command {
  return new Command("doctor")
    .description(
      "Examine what requests and callbacks depend on: files, DNS, TLS, clock, token, Redis, applications, collector. Each check that warns or fails names its fix.",
    )
    .addOption(configOption())
    .option("--no-token", "request no token; tokens in the shared cache are still checked")
    .option("--all-tokens", `check every credential set, where otherwise ${tokenSample} of an environment are checked`)
    .addOption(
      new Option("--send <body>", "send one real request with this JSON body, which you know to be harmless").conflicts(
        "token",
      ),
    )
    .option("--operation <name>", "operation of --send")
    .option("--environment <name>", "environment of --send; not needed if there is only one")
    .option("--site <identifier>", "site of --send, S… or K…, as in the header Countersign-Site")
    .addOption(authOption("--send"))
    .option("--json", "print the result as JSON")
    .addHelpText("after", harmless)
    .action(doctor);
}

const harmless = `
Without --send it sends no order:
  Each host gets one HEAD / without credentials, for its Date.
  A token is requested only for a credential set that has none in the shared
  cache, or one that is due. The new token goes there.
  Of many sets in an environment, a sample is checked; --all-tokens: every one.
  In Redis, probe keys under countersign: are written, and removed at once.
  An application that callbacks go to is connected to, and gets nothing.
  A collector gets an export without spans.
  The running serve is asked for /readyz, /metrics and /status.

It needs neither a shell nor other programs, and ends within 30 s:

  kubectl exec POD -c countersign -- countersign doctor

Exit code 0: nothing failed. 1: something did. 2: the configuration is refused.
`;

async function doctor(options: Options): Promise<void> {
  const { config: file, token: withToken, allTokens = false, json = false } = options;
  const limits = { clock: systemClock, deadlineMs: systemClock.nowMs() + runMs };
  const loaded = await loadConfig(file);
  if (loaded.kind === "refused") {
    const checks = (await checkFormer(file, limits)).map((check) => withLinks(check));
    if (!json) {
      const width = Math.max(...checks.map(({ environment = "" }) => environment.length));
      for (const check of checks) print(formatCheck(check, width));
      throw refusalOf(file, loaded, checks.length === 0 ? unchecked : former);
    }
    printJson({ ok: false, problems: loaded.problems, checks });
    process.exitCode = exitCodes.usage;
    return;
  }
  const { config } = loaded;
  const chosen = chooseRequest(options, config);
  boundLookUps(config.timeouts.connectMs);
  const run: Run = {
    file,
    ...loaded,
    ...limits,
    withToken,
    allTokens,
    chosen,
  };
  const environmentWidth = Math.max(...[...config.environments.keys()].map((name) => name.length));
  const checks: Check[] = [];
  const sum: Record<Verdict, number> = { ok: 0, warn: 0, fail: 0, skipped: 0 };
  for await (const found of runChecks(run)) {
    const check = withLinks(found, config.docsUrl);
    checks.push(check);
    sum[check.verdict] += 1;
    if (!json) print(formatCheck(check, environmentWidth));
  }
  const notChecked = listUnchecked(config, checks);
  if (json) printJson({ ok: sum.fail === 0, sum, configHash: config.hash, checks, notChecked });
  else {
    // Again, since thousands of lines may be in between.
    const failed = checks.filter(({ verdict }) => verdict === "fail");
    if (checks.length > shortReport && failed.length > 0) {
      print("\nFailed:");
      for (const check of failed) print(formatCheck(check, environmentWidth));
    }
    print(formatSum(sum, notChecked, chosen !== undefined));
  }
  process.exitCode = sum.fail === 0 ? exitCodes.ok : exitCodes.no;
  // A check that was given up, such as a look-up, must not keep the process alive.
  systemClock.after(0, () => process.exit());
}

function withLinks(check: Check, docsUrl?: string): Check {
  return check.fix === undefined ? check : { ...check, fix: withAddresses(check.fix, docsUrl) };
}

const unchecked =
  "nothing was checked. A serve that runs keeps its former configuration: its status page has what its requests get now";
const former = "nothing else was checked. The lines above are of the serve that runs, with its former configuration";

/** In the order of the report: a check comes after the checks that it depends on. */
const probes: readonly ((run: OpenRun) => readonly (Check | Promise<Check>)[] | Promise<readonly Check[]>)[] = [
  checkEnvironments,
  checkSend,
  ({ redis }) => redis,
  checkEncryptionKeys,
  checkCallers,
  checkCallbacks,
  checkTracing,
  checkServe,
];

/** Checks everything that can prevent a request from being served. */
export async function* runChecks(run: Run): AsyncGenerator<Check> {
  const { config, clock } = run;
  yield* checkConfig(run);
  const owned = [...ownersOf(config)].flatMap(setsOf);
  const distinct = new Map(owned.map((set) => [set.tokenKey, set]));
  const redis = await checkRedis(run, [...distinct.keys()]);
  let read: SharedSet["read"] = "miss";
  const report: Report = (event) => {
    if (event.kind === "token_cache_read") read = event.result;
  };
  const { store, close } = await openTokenBackend(config, report, { clock, random: Math.random, report });
  const upstreams = openUpstreams(clock);
  await upstreams.prepare(config);
  try {
    const sets: SharedSet[] = [];
    // One at a time, since the store's report does not name the set.
    for (const [key, set] of distinct) {
      const { token, limits } = await store.read(key);
      const backoff = limits?.endpoint;
      sets.push({ ...set, read, token, backoff: backoff?.remainingMs === 0 ? undefined : backoff });
    }
    const done: Check[] = [];
    for (const probe of probes) {
      const found = await Promise.all(await probe({ ...run, upstreams, store, sets, redis, done }));
      done.push(...found);
      yield* found;
    }
  } finally {
    await close();
    await upstreams.close();
  }
}

/** The request that --send describes. */
function chooseRequest({ send, operation, environment, site, auth }: Options, config: Config): OneRequest | undefined {
  if (send === undefined) {
    refuseWithout("send", { operation, environment, site, auth });
    return undefined;
  }
  if (operation === undefined) throw usageFailure("Name the operation that --send calls with --operation.");
  return { operation, site, auth, body: Buffer.from(send), environment: pickEnvironment(config, environment) };
}

/** Sends the one real request of --send, as `serve` would, and reports its result. */
function checkSend(run: OpenRun): Promise<Check>[] {
  const { chosen } = run;
  if (chosen === undefined) return [];
  const about = { topic: "send", environment: chosen.environment.name, subject: chosen.operation };
  return [timed(run, about, () => send(chosen, run))];
}

async function send(chosen: OneRequest, { config: whole, upstreams }: OpenRun): Promise<CheckResult> {
  const { environment } = chosen;
  // No tokens are requested for the other environments.
  const config = { ...whole, environments: new Map([[environment.name, environment]]) };
  const tokens = openTokens(upstreams.tokenEndpointOf, () => {}, systemDependencies);
  await tokens.prepare(config);
  tokens.commit(config);
  let finished: RequestFinished | undefined;
  const report = (event: Event) => {
    if (event.kind === "request_finished") finished = event;
  };
  const parts = { send: upstreams.sendTo(environment), tokensOf: tokens.tokensOf, report, newRequestId: randomUUID };
  try {
    const answer = await serveOne(chosen, config, parts);
    if (answer === undefined) return fail("it was not answered", "see the lines above");
    if (!answer.isLocal) {
      return { ...(await judgeAnswer(answer, environment.name, finished)), answered: { key: finished?.key } };
    }
    const { status, code, detail } = problemOf(answer);
    return fail(`Countersign answers ${status} ${code}: ${detail}`, fixOwn(status, code, environment.name));
  } finally {
    await tokens.close();
  }
}

/** What to do about a failure of Countersign itself. Its detail names what is wrong. */
function fixOwn(status: number, code: FailureCode, environment: string): string {
  switch (code) {
    case "operation_not_allowed":
    case "target_not_allowed":
      return `correct --operation, or add it to environments.${environment}.operations`;
    case "site_not_configured":
    case "site_required":
    case "site_conflict":
      return "name a site that is configured, with --site or as site_identifier in the body";
    case "auth_not_configured":
      return "correct --auth, or name a site that has this method with --site";
    case "token_unavailable":
    case "credentials_refused":
      return "see the lines above about token";
    case "upstream_unreachable":
      return "see the lines above about dns, tls and http";
  }
  const isOfBody = status === 400 || status === 413 || status === 422;
  return isOfBody ? "correct the JSON of --send" : `see docs/reference/errors.md#${code}`;
}

/** @param finished its event */
async function judgeAnswer(
  { status, body }: Answer,
  environment: string,
  finished: RequestFinished | undefined,
): Promise<CheckResult> {
  const isWhole = body instanceof Uint8Array || (await buffer(body).catch(() => undefined)) !== undefined;
  if (!isWhole) return fail(`its answer, ${status}, broke off`, "see what stands between here and the service");
  const { auth, contentType, location } = finished ?? {};
  const detail = `the service answers ${status}${location === undefined ? "" : `, Location ${location}`}`;
  const found = explainAnswer(status, { path: `environments.${environment}`, auth, contentType });
  const isTaken = status >= 200 && status < 300;
  if (found !== undefined) return (isTaken ? warn : fail)(`${detail}: ${found.detail}`, found.fix);
  return isTaken ? ok(detail) : fail(detail, "the service's answer says more: send the same through serve");
}

/** What only a real request can check, by environment: the path of baseUrl, and whether token or key are accepted. */
function listUnchecked({ environments }: Config, checks: readonly Check[]): readonly string[] {
  return [...environments.values()].flatMap((each) => {
    const { name, sites } = each;
    const answered = checks.find(({ topic, environment }) => topic === "send" && environment === name)?.answered;
    const signing = [...sites.values()].filter(({ auth }) => auth.includes("hmac"));
    const keys = new Set(signing.flatMap((site) => site.keys.map(({ identifier }) => identifier)));
    const isKeyShown = keys.delete(answered?.key ?? "");
    const isTokenShown = answered !== undefined && answered.key === undefined;
    const sets = credentialSetsOf(each).length - (isTokenShown ? 1 : 0);
    return [
      ...(answered === undefined ? [`the path of baseUrl in ${name}`] : []),
      ...(sets > 0 ? [`whether ${name} accepts the ${isTokenShown ? "other " : ""}tokens`] : []),
      ...(keys.size > 0 ? [`whether ${name} accepts the ${isKeyShown ? "other " : ""}HMAC keys`] : []),
    ];
  });
}

/** A longer report repeats its failures at the end. */
const shortReport = 20;

const styles = { ok: "green", warn: "yellow", fail: "red", skipped: "dim" } as const;
const indent = 6;

/** A line for people, and below it the fix. The longest name of an environment has `environmentWidth` characters. */
export function formatCheck(check: Check, environmentWidth: number): string {
  const { topic, environment = "", subject, verdict, detail, fix, tookMs } = check;
  const word = paint(styles[verdict], verdict.slice(0, "skip".length).padEnd(indent));
  const took = tookMs > 0 ? ` (${tookMs} ms)` : "";
  const line = `${word}${topic.padEnd(7)} ${environment.padEnd(environmentWidth + 2)}${escapeControls(`${subject}: ${detail}`)}${took}`;
  return fix === undefined ? line : `${line}\n${" ".repeat(indent)}fix: ${escapeControls(fix)}`;
}

function formatSum(
  { ok, warn, fail, skipped }: Record<Verdict, number>,
  notChecked: readonly string[],
  hasSent: boolean,
): string {
  const verdict = fail > 0 ? paint("red", "Something has to be fixed") : paint("green", "No check failed");
  const sum = `\n${verdict}: ${ok} ok, ${warn} with a warning, ${fail} failed, ${skipped} skipped.`;
  if (notChecked.length === 0) return sum;
  const advice = hasSent ? "" : " Only a real request checks this: --send '{…}' --operation NAME.";
  return `${sum}\nNot checked: ${listNames(notChecked)}.${advice}`;
}
