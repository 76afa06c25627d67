import { isMoreThanChance, isOfCaller, type RecentFailure, seemsOver } from "../../adapters/stats/recent-requests.ts";
import type { CallbackStatus, EnvironmentStatus } from "../../adapters/stats/stats.ts";
import { sumOf } from "../../adapters/stats/sums.ts";
import { formatSpan } from "../../model/clock.ts";
import { applicationOf, explainConnectFailure, type Peer, serviceOf } from "../../model/connect-failure.ts";
import { sectionOn } from "../../model/documents.ts";
import { type FailureCode, failures } from "../../model/errors.ts";
import { tokenOutages } from "../../model/events.ts";
import { type Bind, describeBind } from "../../model/listener.ts";
import { listNames } from "../../model/names.ts";
import { explainAnswer, explainCallback } from "../../model/service-answer.ts";
import { askAdmin } from "../ask.ts";
import { printable } from "../terminal.ts";
import { boundMs, type Check, type CheckResult, fail, ok, type Run, skip, timed, toCheck, warn } from "./check.ts";

const longestAnswerMs = 3_000;
/** Kinds of failures that are named. */
const mostNamed = 3;

/** Whether the running `serve` is ready and has this configuration, and what its requests got. */
export async function checkServe(run: Run): Promise<Check[]> {
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
    "seconds" | "requests" | "failures" | "lastFailedAt" | "succeededSince" | "notJson"
  >;
}

/** What is read of `/status`. */
interface Status {
  readonly environments: readonly (Recent & Pick<EnvironmentStatus, "name">)[];
  readonly callbacks: readonly (Recent & Pick<CallbackStatus, "environment" | "listener">)[];
  readonly droppedLogLines: number;
  /** ISO 8601. */
  readonly at: string;
}

/** What the requests and callbacks of each environment got in the last minutes, by the status port of the running `serve`. */
async function checkRecent(bind: Bind, run: Run): Promise<Check[]> {
  const about = { topic: "serve", subject: `status ${describeBind(bind)}` };
  if (bind.kind === "tcp" && bind.port === 0) return [];
  const page = await askAdmin(bind, "/status", boundMs(run, longestAnswerMs), run.clock);
  const read = typeof page === "string" ? undefined : readStatus(page.text);
  if (read === undefined) return [toCheck(about, skip("no serve answers there, so what requests got is not known"))];
  const { environments, callbacks, droppedLogLines, at } = read;
  const ofRequests = [...run.config.environments.values()].flatMap(({ name: environment, baseUrl }) => {
    const known = environments.find(({ name }) => name === environment);
    const service = serviceOf(environment, baseUrl.origin);
    return known === undefined
      ? []
      : [toCheck({ ...about, environment }, evaluateRecent(known, at, environment, service))];
  });
  const ofCallbacks = run.config.callbacks.flatMap(({ bind, environment, application: { url } }, index) => {
    const listener = describeBind(bind);
    const known = callbacks.find((each) => each.listener === listener && each.environment === environment);
    if (known === undefined) return [];
    const subject = `callbacks at ${listener}`;
    const found = evaluateCallbacks(known, at, applicationOf(url.origin, `callbacks[${index}].application`));
    return [toCheck({ ...about, subject, environment }, found)];
  });
  return [...ofRequests, ...ofCallbacks, ...(droppedLogLines > 0 ? [toCheck(about, lostLines(droppedLogLines))] : [])];
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
      const { seconds, requests, failures, succeededSince = 0, notJson = [] } = recent;
      const counts = [seconds, requests, succeededSince, ...[...failures, ...notJson].map(({ count }) => count)];
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

function evaluateRecent(all: Recent, now: string, environment: string, service: Peer): CheckResult {
  return evaluate(all, now, "request", (first) => fixEnd(first, `environments.${environment}`, service));
}

function evaluateCallbacks(all: Recent, now: string, application: Peer): CheckResult {
  return evaluate(all, now, "callback", (end) => {
    const { what, cause = "" } = end;
    const known = explainCallback(what).fix ?? explainConnectFailure(cause, application)?.fix;
    const fix = what === "replay_store_unavailable" ? seeRedis : (fixFormer(end, application) ?? known);
    return `${fix === undefined ? "" : `${fix}; `}see docs/troubleshooting.md#callbacks-do-not-arrive`;
  });
}

/** How a request ended. */
type End = Pick<RecentFailure, "by" | "what" | "cause" | "server" | "site"> & { readonly contentType?: string };

/** @param fix of the commonest failure, or of an answer that is not JSON */
function evaluate(
  { recent: { seconds, requests, failures: kinds, lastFailedAt, succeededSince = 0, notJson = [] } }: Recent,
  now: string,
  what: "request" | "callback",
  fix: (end: End) => string,
): CheckResult {
  const lately = `the last ${formatSpan(seconds * 1_000)}`;
  const failed = sumOf(kinds, ({ count }) => count);
  // What an operator can mend comes first.
  const sorted = kinds.toSorted((one, other) => Number(isOfCaller(one)) - Number(isOfCaller(other)));
  const [first] = sorted;
  const [odd] = notJson;
  if (requests === 0) return skip(`no ${what} in ${lately}`);
  if (first === undefined) {
    const none = `none of ${requests} ${what}s of ${lately} failed`;
    if (odd === undefined) return ok(none);
    const types = printable(listNames(notJson.map(({ contentType }) => contentType)));
    const detail = `${none}, but ${sumOf(notJson, ({ count }) => count)} answers were ${types}, not JSON`;
    return warn(detail, fix({ by: "service", what: "200", contentType: odd.contentType }));
  }
  const others = sumOf(sorted.slice(mostNamed), ({ count }) => count);
  const ends = sorted
    .slice(0, mostNamed)
    .map((kind) => `${kinds.length > 1 ? `${kind.count} × ` : ""}${describeEnd(kind)}`);
  const isOver = seemsOver(lastFailedAt, succeededSince, now);
  const since = isOver ? `; the ${succeededSince} since then succeeded` : "";
  const detail = `${failed} of ${requests} ${what}s of ${lately} failed: ${[...ends, ...(others > 0 ? [`${others} × others`] : [])].join(", ")}${since}`;
  const notOfCallers = sumOf(kinds, (kind) => (isOfCaller(kind) ? 0 : kind.count));
  const isFailing = !isOver && isMoreThanChance({ requests, failed: notOfCallers });
  return (isFailing ? fail : warn)(detail, fix(first));
}

/** `401 by the service (https://api.example, S1)`, `upstream_unreachable (ECONNREFUSED, https://api.example)` */
function describeEnd({ by, what, cause, server, site }: RecentFailure): string {
  const about = [cause, server, site === "none" ? undefined : site].flatMap((each) => (each ? [printable(each)] : []));
  const more = about.length === 0 ? "" : ` (${about.join(", ")})`;
  return `${printable(what)}${by === "service" ? " by the service" : ""}${more}`;
}

const seeRedis = "see the lines of redis above";

/** If a reload has replaced the server that failed. */
function fixFormer({ server }: End, { place, setting }: Peer): string | undefined {
  return server === undefined || server === place ? undefined : `${setting} does not name it any more`;
}

/** @param path the environment's, in the configuration */
function fixEnd(end: End, path: string, service: Peer): string {
  const { by, what, cause = "", contentType } = end;
  const { status = what } = Object.entries(failures).find(([code]) => code === what)?.[1] ?? {};
  const section = sectionOn(String(status));
  const see = section === undefined ? [] : [`see docs/${section}`];
  const fix =
    by === "service" && status === what
      ? explainAnswer(Number(what), { path, contentType })?.fix
      : fixOf(what, cause, service);
  const known = fixFormer(end, service) ?? fix;
  return [...(known === undefined ? [] : [known]), ...see].join("; ") || "see the log of serve";
}

/** What to do about a failure of Countersign's own. */
function fixOf(code: string, cause: string, service: Peer): string | undefined {
  if (tokenOutages.some((each) => each === code)) return "see the lines of the token above";
  if (code === "once_unavailable") return seeRedis;
  if (code === "upstream_unreachable") return explainConnectFailure(cause, service)?.fix;
  return failures[code as FailureCode].fix;
}
