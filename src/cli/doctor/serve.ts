import { isMoreThanChance, type RecentFailure } from "../../adapters/stats/recent-requests.ts";
import type { EnvironmentStatus } from "../../adapters/stats/stats.ts";
import { sectionOn } from "../../model/documents.ts";
import { failures } from "../../model/errors.ts";
import { type Bind, describeBind } from "../../model/listener.ts";
import { listNames } from "../../model/names.ts";
import { askAdmin } from "../ask.ts";
import { printable } from "../terminal.ts";
import {
  boundMs,
  type Check,
  type CheckResult,
  fail,
  formatSpan,
  ok,
  type Run,
  skip,
  timed,
  toCheck,
  warn,
} from "./check.ts";

const longestAnswerMs = 3_000;

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
    if (isNoServe) return skip("nothing listens there, so serve does not run here");
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

type Recent = Pick<EnvironmentStatus, "name"> & {
  readonly recent: Pick<EnvironmentStatus["recent"], "seconds" | "requests" | "failures">;
};

/** What the requests of each environment got in the last minutes, by the status port of the running `serve`. */
async function checkRecent(bind: Bind, run: Run): Promise<Check[]> {
  const about = { topic: "serve", subject: `status ${describeBind(bind)}` };
  if (bind.kind === "tcp" && bind.port === 0) return [];
  const page = await askAdmin(bind, "/status", boundMs(run, longestAnswerMs), run.clock);
  const all = typeof page === "string" ? undefined : readRecent(page.text);
  if (all === undefined) return [toCheck(about, skip("no serve answers there, so what requests got is not known"))];
  return [...run.config.environments.keys()].flatMap((environment) => {
    const known = all.find(({ name }) => name === environment);
    return known === undefined ? [] : [toCheck({ ...about, environment }, evaluateRecent(known))];
  });
}

/** Undefined if the text is not what `/status` gives: another program may have the port. */
function readRecent(text: string): readonly Recent[] | undefined {
  try {
    const environments: readonly Recent[] = JSON.parse(text).environments;
    const isKnown = environments.every(({ name, recent: { seconds, requests, failures } }) => {
      const counts = [seconds, requests, ...failures.map(({ count }) => count)];
      const words = [name, ...failures.flatMap(({ what, cause = "" }) => [what, cause])];
      return counts.every(Number.isFinite) && words.every((word) => typeof word === "string");
    });
    return isKnown ? environments : undefined;
  } catch {
    return undefined;
  }
}

function evaluateRecent({ name, recent: { seconds, requests, failures: kinds } }: Recent): CheckResult {
  const lately = `the last ${formatSpan(seconds * 1_000)}`;
  const failed = kinds.reduce((sum, { count }) => sum + count, 0);
  const [first] = kinds;
  if (requests === 0) return skip(`no request in ${lately}`);
  if (first === undefined) return ok(`none of ${requests} requests of ${lately} failed`);
  const ends = kinds.map((kind) => `${kinds.length > 1 ? `${kind.count} × ` : ""}${describeEnd(kind)}`);
  const detail = `${failed} of ${requests} requests of ${lately} failed: ${listNames(ends)}`;
  return (isMoreThanChance({ requests, failed }) ? fail : warn)(detail, fixEnd(first, `environments.${name}`));
}

/** `401 by the service`, `upstream_unreachable (ECONNREFUSED)` */
function describeEnd({ by, what, cause }: RecentFailure): string {
  return printable(`${what}${cause === undefined ? "" : ` (${cause})`}${by === "service" ? " by the service" : ""}`);
}

/** @param path the environment's, in the configuration */
function fixEnd({ by, what }: RecentFailure, path: string): string {
  const { status = what } = Object.entries(failures).find(([code]) => code === what)?.[1] ?? {};
  const section = sectionOn(String(status));
  const see = section === undefined ? "see the log of serve" : `see docs/${section}`;
  const fix = by === "service" && status === what ? explainRefusal(Number(what), path).fix : undefined;
  return fix === undefined ? see : `${fix}; ${see}`;
}

/**
 * The likely causes of a status: the service's interface defines only some statuses.
 * @param path the environment's, in the configuration
 */
export function explainRefusal(status: number, path: string): CheckResult {
  const answers = `the service answers ${status}`;
  if (status < 400) {
    return fail(
      `${answers}: no redirect is followed, so no order exists`,
      `correct ${path}.baseUrl if the host has moved; else see whether a login or a firewall answers`,
    );
  }
  switch (status) {
    case 401:
      return fail(
        `${answers}: it does not accept the token or the signature`,
        "compare audience and key with the portal of this very environment",
      );
    case 403:
      return fail(`${answers}: it does not allow this site or operation`, "see in the portal what the site may do");
    case 404:
      return fail(`${answers}: it does not know the path`, `correct the path in ${path}.baseUrl, or the operation`);
    case 400:
    case 422:
      return fail(
        `${answers}: it does not accept the parameters, or with HMAC the key or the signature`,
        "compare the key and its version with the portal, then the parameters",
      );
    case 429:
      return fail(`${answers}: it gets too many requests`, "try again later");
  }
  return status >= 500 && status <= 599
    ? fail(`${answers}: it fails, and the request may have had an effect`, "see the service's own state")
    : fail(answers, "the service's answer says more: send the same through serve");
}
