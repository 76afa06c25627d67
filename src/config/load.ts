import { readdir, readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { formatDuration, takeTurns } from "../model/clock.ts";
import type { Environment } from "../model/environment.ts";
import type { Config, TokensConfig } from "./config.ts";
import { Diagnostics, inFileOrder, type Problem, problemOfAll, type Warning } from "./diagnostics.ts";
import { decodeText, readAtOnce, readRegularFile, stampOf } from "./files/file-system.ts";
import { digestOf, type WatchedFiles } from "./files/watch.ts";
import { readDocument } from "./files/yaml.ts";
import { checkForm } from "./form/check-form.ts";
import { configSchema, type RawConfig } from "./form/schema.ts";
import { hashConfig } from "./hash.ts";
import { defaultReplay, loadCallbacks } from "./rules/callbacks.ts";
import { loadEnvironment, type ReadSites, warnOfSharedSites } from "./rules/environments.ts";
import { loadListeners } from "./rules/listeners.ts";
import { type ConfigDependencies, LoadContext, noteFiles } from "./rules/load-context.ts";
import { addRedis, loadRedis } from "./rules/redis.ts";
import { SiteFolder } from "./rules/site-folder.ts";
import { loadTracing } from "./rules/tracing.ts";
import { checkUniqueness } from "./rules/uniqueness.ts";

/** A sound configuration, or the problems of the file; and the files that were read. */
export type Loaded = Outcome & WatchedFiles;

type Outcome =
  | {
      readonly kind: "loaded";
      readonly config: Config;
      /** In the order in which they were found. */
      readonly warnings: readonly Warning[];
      /** Warnings whose codes are in `acknowledge`. */
      readonly acknowledged: readonly Warning[];
    }
  | {
      readonly kind: "refused";
      readonly problems: readonly Problem[];
      /** Problems of form hide those of meaning. */
      readonly isOfForm: boolean;
    };

/**
 * Reads and checks a configuration file with all files that it names. It reports all problems of form (YAML, schema), or,
 * if there are none, all problems of meaning (secrets, files, rules across settings). One problem refuses the whole
 * configuration, but a problem in the file of one site refuses only that file.
 */
export function loadConfig(file: string, given: Partial<ConfigDependencies> = {}): Promise<Loaded> {
  return createLoader(file)({ readFile: readAtOnce, ...given });
}

/** Options of one reading. */
interface Reading extends Partial<ConfigDependencies> {
  /** Paths that may have changed, in or for folders of sites; undefined: any may have changed. */
  readonly changed?: ReadonlySet<string> | undefined;
}

export type Loader = (reading?: Reading) => Promise<Loaded>;

/** Makes a `loadConfig` for repeated use: of the sites with files of their own it reads only the changed ones. */
export function createLoader(path: string): Loader {
  const file = resolve(path);
  /** By environment. */
  let folders: ReadonlyMap<string, SiteFolder> = new Map();
  /** Paths changed since the last sound configuration: a refused one may not have read its folders. */
  let changed: ReadonlySet<string> | undefined;
  return async ({ changed: more, ...given } = {}) => {
    changed = changed && more && new Set([...changed, ...more]);
    const all = { ...(await systemDependencies()), ...given };
    const dependencies = { ...all, readFolder: remember(all.readFolder) };
    const files = new Map<string, string>();
    const wanted = new Map<string, SiteFolder>();
    const read: ReadSites = async (environment, path, settings) => {
      const absolute = `${resolve(dirname(file), path)}/`;
      files.set(absolute, digestOf(Buffer.from(await stampOf(absolute))));
      const known = folders.get(environment);
      const folder = known?.path === absolute ? known : new SiteFolder(absolute, environment);
      wanted.set(environment, folder);
      await folder.read(settings, dirname(file), dependencies, changed);
      return folder.versions();
    };
    const watched = noteFiles(dependencies, files, ({ bytes }) => digestOf(bytes));
    const outcome = await loadFile(file, watched, { wanted, read });
    folders = outcome.kind === "loaded" ? wanted : new Map([...folders, ...wanted]);
    if (outcome.kind === "loaded") {
      changed = new Set();
      for (const folder of folders.values()) folder.commit();
    }
    return { ...outcome, files, folders: [...folders.values()].map(({ watched }) => watched) };
  };
}

/** Asks once for each folder: thousands of sites may lack their secret in one. */
function remember(read: ConfigDependencies["readFolder"]): ConfigDependencies["readFolder"] {
  const known = new Map<string, ReturnType<typeof read>>();
  return (path) => {
    const names = known.get(path) ?? read(path);
    known.set(path, names);
    return names;
  };
}

/** The sites that have files of their own. */
interface SiteFolders {
  /** The folders that were read, by environment. */
  readonly wanted: ReadonlyMap<string, SiteFolder>;
  readonly read: ReadSites;
}

async function loadFile(file: string, dependencies: ConfigDependencies, folders: SiteFolders): Promise<Outcome> {
  const text = await readText(file, dependencies);
  if (typeof text !== "string") return refuse([text]);
  const document = readDocument(text);
  if (document.yamlProblems.length > 0) return refuse(document.yamlProblems, true);

  const diagnostics = new Diagnostics(document.locate);
  const raw = checkForm(document.value, configSchema, diagnostics);
  if (raw === undefined) return refuse(diagnostics.problems, true);

  const context = LoadContext.open(dependencies, dirname(file), diagnostics);
  checkDependencies(file, context);
  warnOfTimeouts(document.value, raw, context);
  const config = await buildConfig(raw, folders, context);
  if (diagnostics.problems.length > 0) return refuse(diagnostics.problems);

  const { warnings } = diagnostics;
  const isAcknowledged = ({ code }: Warning) => raw.acknowledge.includes(code);
  return {
    kind: "loaded",
    config,
    warnings: warnings.filter((warning) => !isAcknowledged(warning)),
    acknowledged: warnings.filter(isAcknowledged),
  };
}

function refuse(problems: readonly Problem[], isOfForm = false): Outcome {
  return { kind: "refused", problems: inFileOrder(problems), isOfForm };
}

/** Reads all files that the configuration names, and reports problems of meaning. Do not use the result after a problem. */
async function buildConfig(raw: RawConfig, { wanted, read }: SiteFolders, context: LoadContext): Promise<Config> {
  const environments = new Map<string, Environment>();
  const atEnvironments = context.in("environments");
  for (const [name, environment] of Object.entries(raw.environments)) {
    environments.set(name, await loadEnvironment(name, environment, read, atEnvironments.in(name)));
  }
  if (environments.size === 0) atEnvironments.report("there is no environment", "add one");
  const { request: requestMs, connect: connectMs, token: tokenMs } = raw.timeouts;
  const listeners = await loadListeners(raw, context);
  const values = checkUniqueness(context.state.uniqueValues, context.state.diagnostics);
  for (const [index, [name, folder]] of [...wanted].entries()) {
    const environment = environments.get(name);
    if (environment === undefined) continue;
    const isFollowed = index < wanted.size - 1;
    environments.set(name, await folder.admitTo(environment, values, isFollowed, atEnvironments.in(name)));
  }
  warnOfSharedSites(environments, atEnvironments);
  warnOfUnused(raw, atEnvironments);
  const isShared = raw.tokens.cache === "redis";
  const callbacks = await loadCallbacks(raw.callbacks, raw.environments, isShared, context.in("callbacks"));
  const redis = await loadRedis(raw, context);
  const tracing = await loadTracing(raw.tracing, context.in("tracing"));
  const tokens: TokensConfig = redis === undefined ? { cache: "memory" } : { cache: "redis", redis };
  if (raw.once !== undefined && raw.tokens.cache === "memory") {
    const message = "Countersign-Once needs the Redis that replicas share, and tokens.cache is memory";
    const section = raw.redis === undefined ? `; ${addRedis}` : "";
    context.in("once").report(message, `remove once, or add tokens: { cache: redis }${section}`, "hidden");
  }
  const config = {
    listeners,
    callbacks,
    admin: raw.admin.bind,
    adminHosts: raw.admin.hosts,
    status: raw.status?.bind,
    environments,
    tokens,
    once: raw.once && { ttlMs: raw.once.ttl, waitMs: raw.once.wait, header: raw.once.header },
    timeouts: { requestMs, connectMs, tokenMs },
    limits: raw.limits,
    log: raw.log,
    metrics: { sites: raw.metrics.sites ?? (wanted.size > 0 ? ("none" as const) : ("named" as const)) },
    tracing,
    readiness: raw.readiness,
    reload: { unreadyAfterRefusalMs: raw.reload.unreadyAfterRefusal },
    drain: { minMs: raw.drain.min },
    docsUrl: raw.docs && `${raw.docs.baseUrl.origin}${raw.docs.baseUrl.path}`,
    acknowledge: raw.acknowledge,
  };
  await takeTurns();
  const { secrets: named } = context.state;
  const secrets = () => [...named, ...[...wanted.values()].flatMap((folder) => [...folder.secrets()])];
  const withReplay = raw.callbacks.map((listener) => ({
    ...listener,
    replay: listener.replay ?? defaultReplay(isShared),
  }));
  const written = { ...raw, callbacks: withReplay };
  return { ...config, hash: hashConfig(config), written, secrets };
}

/** @param context of `environments` */
function warnOfUnused({ environments, listeners, callbacks }: RawConfig, context: LoadContext): void {
  for (const name of Object.keys(environments)) {
    if ([...listeners, ...callbacks].some(({ environment }) => environment === name)) continue;
    context.in(name).warn("environment_unused", "no listener leads here", "add a listener, or remove the environment");
  }
}

async function readText(file: string, { readFile }: ConfigDependencies): Promise<string | Problem> {
  try {
    const { bytes } = await readFile(file, true);
    return decodeText(bytes) ?? problemOfAll("the configuration file is not UTF-8", "save it as UTF-8");
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    if (code === "EFBIG") return problemOfAll(`the configuration file is longer than 16 MiB: ${file}`, giveFile);
    return problemOfAll(`the configuration file cannot be read (${code}): ${file}`, giveFile);
  }
}

const giveFile = "give the path of a readable YAML file, by --config FILE or COUNTERSIGN_CONFIG";

function checkDependencies(file: string, context: LoadContext): void {
  const { env } = context.state.dependencies;
  if (env["NODE_TLS_REJECT_UNAUTHORIZED"] === "0") {
    const setting = "NODE_TLS_REJECT_UNAUTHORIZED=0";
    context.report(`${setting} turns TLS verification off`, "unset it; for a private CA use tls.caFile", setting);
  }
  context.warnOfMount(file, "this file");
}

/** Only of written ones: a default may be longer than a request, since it bounds token requests in the background too. */
function warnOfTimeouts(written: unknown, { timeouts, callbacks }: RawConfig, root: LoadContext): void {
  const { request, ...others } = timeouts;
  const file = written as { timeouts?: object; callbacks?: readonly { application: object }[] };
  const check = (key: string, ms: number, holder: object = {}, at: LoadContext) => {
    if (ms <= request || !Object.hasOwn(holder, key)) return;
    const message = `${formatDuration(ms)} is longer than timeouts.request, which ends a request after ${formatDuration(request)}`;
    at.in(key).warn("timeout_beyond_request", message, "write a shorter one, or raise timeouts.request");
  };
  for (const [key, ms] of Object.entries(others)) check(key, ms, file.timeouts, root.in("timeouts"));
  for (const [{ application }, at] of root.in("callbacks").each(callbacks)) {
    check("timeout", application.timeout, file.callbacks?.[Number(at.path.at(-1))]?.application, at.in("application"));
  }
}

async function systemDependencies(): Promise<ConfigDependencies> {
  return {
    env: process.env,
    mountPoints: await readMountPoints(),
    readFile: readRegularFile,
    readFolder: (path) => readdir(path),
  };
}

/** The fifth field of each line (proc(5)), with \040 for spaces; empty on systems without this file. */
async function readMountPoints(): Promise<ReadonlySet<string>> {
  const text = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  const points = text.split("\n").flatMap((line) => line.split(" ")[4] ?? []);
  return new Set(points.map((point) => point.replaceAll("\\040", " ")));
}
