import { Command } from "commander";
import { type ConfiguredSet, ownersOf } from "../app/token-owners.ts";
import { openUpstreams } from "../app/upstreams.ts";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load.ts";
import { systemClock } from "../model/clock.ts";
import { describeBind } from "../model/listener.ts";
import { configOption, exitCodes, loadOrRefuse } from "./command.ts";
import { checkCallers } from "./doctor/callers.ts";
import { type Check, type Run, runMs, timed, toCheck, type Verdict } from "./doctor/check.ts";
import { checkCallerSignatures, checkConfig, checkPassThrough } from "./doctor/config.ts";
import { boundLookUps, checkEnvironment } from "./doctor/environment.ts";
import { checkCallbacks, checkServe, checkTracing } from "./doctor/peers.ts";
import { checkRedis, evaluateEncryptionKeys } from "./doctor/redis.ts";
import { openSharedCache, type SharedSet } from "./doctor/token.ts";
import { paint, print, printJson } from "./terminal.ts";

interface Options {
  readonly config: string;
  readonly token: boolean;
  readonly json?: boolean;
}

export function createCommand(): Command {
  return new Command("doctor")
    .description(
      "Examine what requests and callbacks rest on: files, DNS, TLS, clock, token, Redis, applications, collector. Each is ok, or comes with its fix.",
    )
    .addOption(configOption())
    .option("--no-token", "ask for no token; one in the shared cache is looked at all the same")
    .option("--json", "print the result as JSON")
    .addHelpText("after", harmless)
    .action(doctor);
}

const harmless = `
It sends no order. Each host gets one HEAD / without credentials, for its Date. The authorization server is asked for a token only for
credential sets that have none in the shared cache, and what it issues goes there. In Redis, probe keys under countersign: are
written, and removed at once. An application that callbacks go to is connected to, and gets nothing. A collector gets an export without spans. It needs neither a shell nor other programs, and ends within 30 s:

  kubectl exec POD -c countersign -- node /app/dist/main.js doctor

Exit code 0: nothing failed. 1: something did. 2: the configuration is refused.
`;

async function doctor({ config: file, token: withToken, json = false }: Options): Promise<void> {
  const loaded = json ? await loadConfig(file) : await loadOrRefuse(file);
  if (loaded.kind === "refused") {
    printJson({ ok: false, problems: loaded.problems });
    process.exitCode = exitCodes.usage;
    return;
  }
  const { config } = loaded;
  boundLookUps(config.timeouts.connectMs);
  const run: Run = { file, ...loaded, withToken, clock: systemClock, deadlineMs: systemClock.nowMs() + runMs };
  const environmentWidth = Math.max(...[...config.environments.keys()].map((name) => name.length));
  const checks: Check[] = [];
  const sum: Record<Verdict, number> = { ok: 0, warn: 0, fail: 0, skipped: 0 };
  for await (const check of runChecks(run)) {
    checks.push(check);
    sum[check.verdict] += 1;
    if (!json) print(formatCheck(check, environmentWidth));
  }
  if (json) printJson({ ok: sum.fail === 0, sum, configHash: config.hash, checks });
  else print(`\n${formatSum(sum)}`);
  process.exitCode = sum.fail === 0 ? exitCodes.ok : exitCodes.no;
  // What was given up, such as a look-up, must not keep the process alive.
  systemClock.after(0, () => process.exit());
}

/**
 * Everything that can keep a request from being served, in the order in which one thing depends on another. Redis is
 * checked first, while nothing disturbs its measurement, and reported after the environments, which run in parallel.
 */
export async function* runChecks(run: Run): AsyncGenerator<Check> {
  const { config, clock } = run;
  const { tokens } = config;
  yield* checkConfig(run);
  yield* checkCallerSignatures(run);
  const sets = distinctSets(config);
  const tags = sets.map(({ tokenKey }) => tokenKey);
  const redis = tokens.cache === "redis" ? await checkRedis(tokens.redis, tags, run) : [];
  const cache = await openSharedCache(run);
  const upstreams = openUpstreams(clock);
  await upstreams.prepare(config);
  try {
    const shared: SharedSet[] = [];
    for (const set of sets) shared.push({ ...set, shared: await cache.read(set.tokenKey) });
    const environments = [...config.environments.values()].map((environment) => {
      const own = shared.filter((set) => set.environment === environment);
      return checkEnvironment(environment, own, cache, upstreams, run);
    });
    for (const checks of await Promise.all(environments)) yield* checks;
    yield* redis;
    if (tokens.cache === "redis") {
      const keys = evaluateEncryptionKeys(shared.map((set) => set.shared));
      yield toCheck({ topic: "redis", subject: "encryptionKeys" }, keys);
    }
    yield* checkCallers(run);
    yield* checkPassThrough(run);
    yield* await checkCallbacks(run);
    yield* await checkTracing(run);
    const serve = { topic: "serve" as const, subject: `admin ${describeBind(config.admin)}` };
    yield timed(run, serve, () => checkServe(run));
  } finally {
    await cache.close();
    await upstreams.close();
  }
}

/** Each once, however many sites share it. */
function distinctSets(config: Config): ConfiguredSet[] {
  const all = ownersOf(config).flatMap(({ sets }) => sets);
  return [...new Map(all.map((set) => [set.tokenKey, set])).values()];
}

const styles = { ok: "green", warn: "yellow", fail: "red", skipped: "dim" } as const;
const indent = 6;

/** A line for people, and below it what to do. The environments' names take `environmentWidth` characters. */
export function formatCheck(check: Check, environmentWidth: number): string {
  const { topic, environment = "", subject, verdict, detail, fix, tookMs } = check;
  const word = paint(styles[verdict], verdict.slice(0, "skip".length).padEnd(indent));
  const took = tookMs > 0 ? ` (${tookMs} ms)` : "";
  const line = `${word}${topic.padEnd(7)} ${environment.padEnd(environmentWidth + 2)}${subject}: ${detail}${took}`;
  return fix === undefined ? line : `${line}\n${" ".repeat(indent)}fix: ${fix}`;
}

function formatSum({ ok, warn, fail, skipped }: Record<Verdict, number>): string {
  const verdict = fail > 0 ? paint("red", "Something has to be fixed") : paint("green", "Nothing stands in the way");
  return `${verdict}: ${ok} ok, ${warn} to be warned of, ${fail} failed, ${skipped} skipped.`;
}
