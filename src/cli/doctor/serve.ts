import {
  acceptsOthers,
  isMoreThanChance,
  isOfCaller,
  type RecentFailure,
  seemsOver,
} from "../../adapters/stats/recent-requests.ts";
import type { CallbackStatus, EnvironmentStatus } from "../../adapters/stats/stats.ts";
import { sumOf } from "../../adapters/stats/sums.ts";
import { readAtOnce } from "../../config/files/file-system.ts";
import { bindForm } from "../../config/form/values.ts";
import { formatSpan } from "../../model/clock.ts";
import { applicationOf, explainConnectFailure, type Peer, serviceOf } from "../../model/connect-failure.ts";
import { sectionOn } from "../../model/documents.ts";
import { type FailureCode, failures } from "../../model/errors.ts";
import { overAfterSuccesses, tokenOutages } from "../../model/events.ts";
import { type Bind, describeBind } from "../../model/listener.ts";
import { listNames } from "../../model/names.ts";
import { explainAnswer, explainCallback } from "../../model/service-answer.ts";
import { askAdmin } from "../ask.ts";
import { printable } from "../terminal.ts";
import {
  boundMs,
  type Check,
  type CheckResult,
  fail,
  type OpenRun,
  ok,
  type Run,
  skip,
  timed,
  toCheck,
  warn,
} from "./check.ts";

const longestAnswerMs = 3_000;
/** Kinds of failures that are named. */
const mostNamed = 3;

/** Whether the running `serve` is ready and has this configuration, and what its requests got. */
export async function checkServe(run: OpenRun): Promise<Check[]> {
  const { admin, status } = run.config;
  const [ready, ...recent] = await Promise.all([
    timed(run, { topic: "serve", subject: `admin ${describeBind(admin)}` }, () => askServe(run)),
    ...(status === undefined ? [] : [checkRecent(status, run)]),
  ]);
  return [ready, ...recent.flat()];
}

async function askServe(run: Run): Promise<CheckResult> {
  const { admin, hash } = run.config;
  if (admin.kind === "tcp" && admin.port === 0) return skip("admin.bind takes any free port, so serve cannot be asked");
  const get = (path: string) => askAdmin(admin, path, boundMs(run, longestAnswerMs), run.clock);
  const ready = await get("/readyz");
  if (typeof ready === "string") {
    const isNoServe = ready === "ECONNREFUSED" || ready === "ENOENT";
    if (isNoServe)
      return warn("nothing listens there, so serve does not run here", "start it, unless it is to start later");
    const fix = `see what listens at ${describeBind(admin)}: a serve that hangs, or something else`;
    return fail(`no answer (${ready})`, fix);
  }
  const metrics = await get("/metrics");
  const text = typeof metrics === "string" ? "" : metrics.text;
  const active = /^countersign_config_info\{hash="([0-9a-f]{1,64})"\} 1$/m.exec(text)?.[1];
  if (active === undefined) {
    return fail("something listens there that is not Countersign", "give admin.bind another port, or end what has it");
  }
  if (active !== hash) {
    const fix =
      "its log says why (config_refused); a change is applied within 10 s, " +
      "but in a subPath mount and in environment variables only by a restart";
    return warn(`runs with another configuration (${active}) than this file (${hash})`, fix);
  }
  if (ready.status === 200) return ok(`runs with this configuration (${hash}), and is ready`);
  const detail = `runs with this configuration (${hash}), and is not ready: ${printable(ready.text)}`;
  return warn(detail, "see the lines above: serve waits for a token");
}

interface Recent {
  readonly recent: Pick<
    EnvironmentStatus["recent"],
    "seconds" | "requests" | "failures" | "lastFailedAt" | "succeededSince" | "othersSince" | "notJson"
  >;
}

type OfRequests = Recent & Pick<EnvironmentStatus, "name" | "baseUrl" | "sites" | "tokenOutages">;

/** What is read of `/status`. */
interface Status {
  readonly environments: readonly OfRequests[];
  readonly callbacks: readonly (Recent & Pick<CallbackStatus, "environment" | "listener" | "application">)[];
  readonly droppedLogLines: number;
  /** ISO 8601. */
  readonly at: string;
}

/**
 * The same by the status port alone, if the text of a refused configuration tells where that is: YAML may be what is wrong with
 * it. Empty if no `serve` answers there.
 */
export async function checkFormer(file: string, run: Pick<Run, "clock" | "deadlineMs">): Promise<readonly Check[]> {
  const { bytes = "" } = await readAtOnce(file).catch(() => ({ bytes: "" }));
  const [, written = ""] = /^\s*"?status"?:\s*\{?\s*"?bind"?:\s*["']?([^"'\s},]+)/m.exec(bytes.toString()) ?? [];
  const bind = bindForm.read(written);
  const checks = "fix" in bind ? [] : await checkRecent(bind.value, { ...run, done: [] });
  return checks.some(({ verdict }) => verdict !== "skipped") ? checks : [];
}

/** What the requests and callbacks of each environment got in the last minutes, by the status port of the running `serve`. */
async function checkRecent(bind: Bind, run: Pick<OpenRun, "clock" | "deadlineMs" | "done">): Promise<Check[]> {
  const about = { topic: "serve", subject: `status ${describeBind(bind)}` };
  if (bind.kind === "tcp" && bind.port === 0) return [];
  const page = await askAdmin(bind, "/status", boundMs(run, longestAnswerMs), run.clock);
  const read = typeof page === "string" ? undefined : readStatus(page.text);
  if (read === undefined) return [toCheck(about, skip("no serve answers there, so what requests got is not known"))];
  const { environments, callbacks, droppedLogLines, at } = read;
  const ofRequests = environments.map((known) => {
    const environment = printable(`${known.name}`);
    const service = serviceOf(environment, originOf(known.baseUrl));
    const found = evaluate(known, at, "request", (end) => fixEnd(end, known, at, service, run.done));
    return toCheck({ ...about, environment }, found);
  });
  const ofCallbacks = callbacks.map((known, index) => {
    const application = applicationOf(originOf(known.application), `callbacks[${index}].application`);
    const found = evaluateCallbacks(known, at, application, run.done);
    return toCheck(
      { ...about, subject: `callbacks at ${known.listener}`, environment: printable(`${known.environment}`) },
      found,
    );
  });
  return [...ofRequests, ...ofCallbacks, ...(droppedLogLines > 0 ? [toCheck(about, lostLines(droppedLogLines))] : [])];
}

function originOf(url = ""): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}

function lostLines(count: number): CheckResult {
  const fix = "see what reads standard output, and whether a disk is full: docs/alerts/CountersignLogLinesDropped.md";
  return warn(`${count} log lines are lost since its start`, fix);
}

/** Undefined if the text is not what `/status` gives: another program may have the port. */
function readStatus(text: string): Status | undefined {
  try {
    const { environments, callbacks = [], droppedLogLines = 0, at }: Status = JSON.parse(text);
    const isKnown = [...environments, ...callbacks].every(({ recent }) => {
      const { seconds, requests, failures, succeededSince = 0, othersSince = 0, notJson = [] } = recent;
      const since = succeededSince + othersSince;
      const counts = [seconds, requests, since, ...[...failures, ...notJson].map(({ count }) => count)];
      const words = [
        ...failures.flatMap(({ what, cause = "", server = "", site = "" }) => [what, cause, server, site]),
        ...notJson.map(({ contentType }) => contentType),
      ];
      return counts.every(Number.isFinite) && words.every((word) => typeof word === "string");
    });
    return isKnown && Number.isFinite(droppedLogLines) ? { environments, callbacks, droppedLogLines, at } : undefined;
  } catch {
    return undefined;
  }
}

function evaluateCallbacks(all: Recent, now: string, application: Peer, above: readonly Check[]): CheckResult {
  return evaluate(all, now, "callback", (end) => {
    const { what, cause = "" } = end;
    const known = explainCallback(what).fix ?? explainConnectFailure(cause, application)?.fix;
    const isOfRedis = what === "replay_store_unavailable";
    const fix = isOfRedis ? (seeFailed(above, ["redis"]) ?? nothing) : (fixFormer(end, application) ?? known);
    return [fix, "see docs/troubleshooting.md#callbacks-do-not-arrive"];
  });
}

/** How a request ended. */
type End = Omit<RecentFailure, "count"> & { readonly contentType?: string };

/** What to do, and what to read. */
type Fix = readonly [step: string | undefined, see: string | undefined];
const toText = (fix: Fix) => fix.filter((each) => each !== undefined).join("; ") || "see the log of serve";
/** To do about what is over. */
const nothing = "nothing, unless it fails again";
const isDone = (step: string | undefined) => step?.startsWith(nothing) === true;

/** @param fixOf of a kind of failure, or of an answer that is not JSON */
function evaluate(
  {
    recent: { seconds, requests, failures: kinds, lastFailedAt, succeededSince = 0, othersSince = 0, notJson = [] },
  }: Recent,
  now: string,
  what: "request" | "callback",
  fixOf: (end: End) => Fix,
): CheckResult {
  const lately = `the last ${formatSpan(seconds * 1_000)}`;
  if (requests === 0) return skip(`no ${what} in ${lately}`);
  const isMistaken = (kind: RecentFailure) => what === "request" && isOfCaller(kind);
  const [mistaken, failing] = [kinds.filter(isMistaken), kinds.filter((kind) => !isMistaken(kind))];
  const [mistakes, failed] = [sumOf(mistaken, countOf), sumOf(failing, countOf)];
  const were = mistakes === 1 ? "was a caller's mistake" : "were callers' mistakes";
  const [[first], [mistake], [odd]] = [failing, mistaken, notJson];
  const types = printable(listNames(notJson.map(({ contentType }) => contentType)));
  const strange = odd && `${sumOf(notJson, countOf)} answers were ${types}, not JSON`;
  const strangeFix = odd && fixOf({ by: "service", what: "200", contentType: odd.contentType });
  if (first === undefined) {
    const apart = `no ${what} failed in ${lately}; ${mistakes} of ${requests} ${were}: ${listEnds(mistaken)}`;
    const none = mistakes > 0 ? apart : `none of ${requests} ${what}s of ${lately} failed`;
    if (strangeFix !== undefined) return warn(`${none}, but ${strange}`, toText(strangeFix));
    const isOften = mistake !== undefined && isMoreThanChance({ requests, failed: mistakes });
    return isOften ? warn(none, toText(fixOf(mistake))) : ok(none);
  }
  const counts = { requests: requests - mistakes, failed };
  // What is known to fail now comes first, and last what is over.
  const fixes = failing.map(fixOf);
  const broken = fixes.find(([step]) => step?.startsWith(seeLines));
  const [step, see] = broken ?? fixes.find(([step]) => !isDone(step)) ?? fixOf(first);
  const isOver = broken === undefined && seemsOver(lastFailedAt, succeededSince, now);
  const mayBeOver = broken === undefined && succeededSince >= overAfterSuccesses;
  const agoMs = Date.parse(now) - Date.parse(lastFailedAt ?? "");
  const detail =
    `${failed} of ${counts.requests} ${what}s of ${lately} failed: ${listEnds(failing)}` +
    (Number.isFinite(agoMs) ? `; the last ${formatSpan(agoMs)} ago` : "") +
    (succeededSince > 0 ? `; the ${succeededSince + othersSince} since then succeeded` : "") +
    (strange !== undefined ? `; ${strange}` : isOver ? "; it seems to be over" : "") +
    (mistakes > 0 ? `; ${mistakes} more ${were}` : "");
  const wait = mayBeOver && !isDone(step) ? "it is over after a minute without a failure; if it fails again, " : "";
  const fix = isOver ? toText(strangeFix ?? [nothing, see]) : `${wait}${toText([step, see])}`;
  const isFailing = !isOver && !(mayBeOver && isDone(step)) && isMoreThanChance(counts);
  return (isFailing ? fail : warn)(detail, fix);
}

const countOf = ({ count }: { readonly count: number }) => count;

/** The commonest kinds, and how many others there were. */
function listEnds(kinds: readonly RecentFailure[]): string {
  const others = sumOf(kinds.slice(mostNamed), countOf);
  const named = kinds.slice(0, mostNamed);
  const ends = named.map((kind) => `${kinds.length > 1 ? `${kind.count} × ` : ""}${describeEnd(kind)}`);
  return [...ends, ...(others > 0 ? [`${others} × others`] : [])].join(", ");
}

/** `401 by the service (https://api.example, S1)`, `upstream_unreachable (ECONNREFUSED, https://api.example)` */
function describeEnd({ by, what, cause, server, site }: RecentFailure): string {
  const about = [cause, server, site === "none" ? undefined : site].flatMap((each) => (each ? [printable(each)] : []));
  const more = about.length === 0 ? "" : ` (${about.join(", ")})`;
  return `${printable(what)}${by === "service" ? " by the service" : ""}${more}`;
}

const seeLines = "see the lines of";

/** Leads to the lines above on these topics, if any of them tells of a failure. */
function seeFailed(above: readonly Check[], topics: readonly string[], environment?: string): string | undefined {
  const isMeant = (check: Check) =>
    topics.includes(check.topic) &&
    check.environment === environment &&
    (check.verdict === "fail" || (check.verdict === "warn" && check.topic === "token"));
  const failed = new Set(above.filter(isMeant).map(({ topic }) => topic));
  return failed.size === 0 ? undefined : `${seeLines} ${listNames([...failed])} above`;
}

/** If a reload has replaced the server that failed. */
function fixFormer({ server }: End, { place, setting }: Peer): string | undefined {
  return server === undefined || server === place
    ? undefined
    : `${nothing}: ${setting} does not name ${printable(server)} any more`;
}

function fixEnd(end: End, all: OfRequests, now: string, service: Peer, above: readonly Check[]): Fix {
  const { by, what, auth, contentType, site } = end;
  const { status = what } = Object.entries(failures).find(([code]) => code === what)?.[1] ?? {};
  const section = sectionOn(String(status));
  const known = { path: `environments.${all.name}`, auth, contentType, acceptsOthers: acceptsOthers(site, all, now) };
  const isAnswer = by === "service" && status === what;
  const fix = isAnswer ? explainAnswer(Number(what), known)?.fix : fixOwn(end, all, service, above);
  return [fixFormer(end, service) ?? fix, section && `see docs/${section}`];
}

/** What to do about a failure of Countersign's own. */
function fixOwn({ what, cause = "" }: End, all: OfRequests, service: Peer, above: readonly Check[]) {
  if (tokenOutages.some((each) => each === what)) {
    const { detail, fix } = all.tokenOutages?.[0]?.lastRequest ?? {};
    const told = detail === undefined ? nothing : printable(`${detail}; ${fix}`);
    return seeFailed(above, ["token", "egress", "dns", "tls", "http"], all.name) ?? told;
  }
  if (what === "once_unavailable" && cause !== "tokens.cache") return seeFailed(above, ["redis"]) ?? nothing;
  if (what === "upstream_unreachable") return explainConnectFailure(cause, service)?.fix;
  return failures[what as FailureCode]?.fix;
}
