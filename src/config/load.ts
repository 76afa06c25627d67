import { readFile, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { buildConfig } from "./build-config.ts";
import type { Config } from "./config.ts";
import { Findings } from "./diagnostics.ts";
import { readDocument } from "./document.ts";
import { type FilePrints, notePrints } from "./file-digests.ts";
import { findPlaceholders, isAbout } from "./placeholders.ts";
import type { Problem } from "./problem.ts";
import { SecretReader } from "./read-secrets.ts";
import { asItIs, salvage } from "./salvage.ts";
import { configSchema } from "./schema.ts";
import { describeIssues } from "./schema-findings.ts";
import type { ConfigSurroundings } from "./surroundings.ts";

/** A configuration in force, or everything that is wrong with the file; and what it was read from. */
export type Loaded = Verdict & { readonly files: FilePrints };

type Verdict =
  | {
      readonly kind: "loaded";
      readonly config: Config;
      readonly warnings: readonly Problem[];
      /** Warnings whose codes are in `acknowledge`. */
      readonly acknowledged: readonly Problem[];
    }
  | { readonly kind: "refused"; readonly problems: readonly Problem[] };

/**
 * Reads and checks a configuration file with everything it names. All problems are reported at once; a file with one
 * problem is refused whole.
 */
export async function loadConfig(file: string, given: Partial<ConfigSurroundings> = {}): Promise<Loaded> {
  const surroundings = { ...(await systemSurroundings()), ...given };
  const prints = new Map<string, string>();
  const verdict = await judge(file, { ...surroundings, readFile: notePrints(prints, surroundings.readFile) });
  return { ...verdict, files: prints };
}

async function judge(file: string, surroundings: ConfigSurroundings): Promise<Verdict> {
  const text = await readText(file, surroundings);
  if (typeof text !== "string") return refused([text]);
  const document = readDocument(text);
  if (document.yamlProblems.length > 0) return refused(document.yamlProblems);

  const parsed = configSchema.safeParse(document.value, { reportInput: true });
  const { raw, placeInFile } = parsed.success ? asItIs(parsed.data) : salvage(document.value);
  const placeholders = findPlaceholders(document.value);
  const isConsequence = ({ path }: Problem) => placeholders.some((placeholder) => isAbout(path, placeholder));
  const findings = new Findings(
    [...placeholders, ...(parsed.success ? [] : describeIssues(parsed.error.issues))],
    placeInFile,
  );
  checkSurroundings(resolve(file), surroundings, findings);
  const secrets = new SecretReader(surroundings, dirname(resolve(file)), findings);
  const config = raw && (await buildConfig(raw, { secrets, findings, claims: [] }));
  const others = findings.problems.slice(placeholders.length).map(document.locate);
  const problems = [...placeholders.map(document.locate), ...others.filter((problem) => !isConsequence(problem))];
  if (config === undefined || problems.length > 0) return refused(problems);
  const warnings = findings.warnings.map(document.locate).sort(byPlace);
  const isAcknowledged = ({ code }: Problem) => code !== undefined && config.acknowledge?.includes(code) === true;
  return {
    kind: "loaded",
    config,
    warnings: warnings.filter((warning) => !isAcknowledged(warning)),
    acknowledged: warnings.filter(isAcknowledged),
  };
}

function refused(problems: readonly Problem[]): Verdict {
  return { kind: "refused", problems: problems.toSorted(byPlace) };
}

function byPlace(a: Problem, b: Problem): number {
  return a.line - b.line || a.column - b.column;
}

async function readText(file: string, { readFile }: ConfigSurroundings): Promise<string | Problem> {
  const fail = (message: string, fix: string): Problem => {
    return { path: "", line: 1, column: 1, message, found: undefined, fix };
  };
  try {
    const { bytes } = await readFile(resolve(file));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return fail("the configuration file is not UTF-8", "save it as UTF-8");
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    return fail(`the configuration file cannot be read (${code})`, "give the path of a readable YAML file");
  }
}

function checkSurroundings(file: string, { env, mountPoints }: ConfigSurroundings, findings: Findings): void {
  if (env["NODE_TLS_REJECT_UNAUTHORIZED"] === "0") {
    const setting = "NODE_TLS_REJECT_UNAUTHORIZED=0";
    findings.refuse([], `${setting} turns TLS verification off`, "unset it; for a private CA use tls.caFile", setting);
  }
  if (mountPoints.has(file)) {
    const message = "this file is mounted by subPath and is never updated";
    findings.warn("mounted_by_subpath", [], message, "mount its whole folder");
  }
}

async function systemSurroundings(): Promise<ConfigSurroundings> {
  return {
    env: process.env,
    mountPoints: await readMountPoints(),
    async readFile(path) {
      const [bytes, { mode }] = await Promise.all([readFile(path), stat(path)]);
      return { bytes, mode: mode & 0o777 };
    },
  };
}

/** The fifth field of each line (proc(5)), spaces as \040; where there is no such file there are no such mounts. */
async function readMountPoints(): Promise<ReadonlySet<string>> {
  const text = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  const points = text.split("\n").flatMap((line) => line.split(" ")[4] ?? []);
  return new Set(points.map((point) => point.replaceAll("\\040", " ")));
}
