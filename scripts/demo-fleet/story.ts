import { wrap } from "../../simulator/src/demo/layout.ts";
import { paint } from "../../src/cli/terminal.ts";
import { version } from "../../src/version.ts";
import { brokenPromises, formatAccount, formatSum, judge, type Row, sumUp } from "./account.ts";
import { type Chapter, createChapters } from "./chapters.ts";
import { countService, letAllServe, Refusal, type Stage } from "./stage.ts";

const textWidth = 77;

/** What came of the story. */
export interface Verdict {
  readonly judged: number;
  /** In a sentence each; none when all is well. */
  readonly broken: readonly string[];
  /** How often a replica waited for Redis in vain. */
  readonly slowAnswers: number;
}

/** Tells the whole story, chapter by chapter. */
export async function tell(stage: Stage): Promise<Verdict> {
  const { screen, options } = stage;
  for (const line of formatOpening(stage)) screen.line(line);
  const chapters = createChapters(options);
  let judged = 0;
  const broken: string[] = [];
  for (const [index, chapter] of chapters.entries()) {
    const number = index + 1;
    const { rows, stuck } = await tellChapter(stage, chapter, number);
    judged += countJudged(rows);
    broken.push(...[...stuck, ...brokenPromises(rows)].map((each) => `chapter ${number}: ${each}`));
    // What follows builds on what has happened.
    if (stuck.length > 0) return { judged, broken, slowAnswers: countSlowAnswers(stage) };
  }
  const rows = await tellSum(stage, chapters.length + 1);
  broken.push(...brokenPromises(rows).map((each) => `in all: ${each}`));
  return { judged: judged + countJudged(rows), broken, slowAnswers: countSlowAnswers(stage) };
}

async function tellChapter(stage: Stage, chapter: Chapter, number: number) {
  const { screen, account } = stage;
  account.openChapter();
  screen.line(paint("bold", `${number}  ${chapter.title}`));
  for (const line of wrap(chapter.introduction, textWidth)) screen.line(`   ${line}`);
  screen.line();
  const stuck = await playOut(stage, chapter, number > 1);
  const rows = judge(chapter.promised, account.here, account.all);
  screen.line();
  for (const line of formatAccount(rows)) screen.line(line);
  screen.line();
  return { rows, stuck };
}

async function tellSum(stage: Stage, number: number): Promise<Row[]> {
  const { screen, account, load, simulator } = stage;
  await load.stop();
  account.add({ kind: "service_counted", counts: countService(stage, Date.now()) });
  const rows = sumUp(account.all, simulator.counts().accepted);
  screen.line(paint("bold", `${number}  In all`));
  screen.line();
  for (const line of formatSum(rows)) screen.line(line);
  screen.line();
  return rows;
}

function countSlowAnswers({ log }: Stage): number {
  return log.filter(({ line }) => line.event === "redis_failed" && line.failure === "timeout").length;
}

function countJudged(rows: readonly Row[]): number {
  return rows.filter(({ isKept }) => isKept !== undefined).length;
}

function formatOpening({ simulator, redis, redisVersion, options }: Stage): string[] {
  const entry = (label: string, text: string) => `   ${paint("dim", label.padEnd(17))}${text}`;
  return [
    paint("bold", `Countersign ${version}: a fleet of four replicas on this machine`),
    "",
    entry("replicas", "a b c d, each a process of `countersign serve`"),
    entry("Redis", `${redisVersion}, ${redis.url}`),
    entry("service", `${simulator.apiUrl}, simulated`),
    entry("tokens from", `${simulator.loginUrl}, simulated; a token lives ${options.tokenLifetimeSeconds} s`),
    "",
    entry("who counts", "callers: requests, failures; the service: 401s, tokens;"),
    entry("", "the replicas' logs: why a token was issued, and to whom"),
    "",
  ];
}

/** @returns what did not happen at all */
async function playOut(stage: Stage, chapter: Chapter, hasLoad: boolean): Promise<string[]> {
  const stuck: string[] = [];
  let sinceMs = Date.now() - 1_000;
  try {
    await chapter.play(stage);
    if (hasLoad) {
      sinceMs = Date.now();
      await letAllServe(stage);
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    stuck.push(error.message);
  }
  stage.account.add({ kind: "service_counted", counts: countService(stage, sinceMs) });
  return stuck;
}
