import type { Config } from "../config/config.ts";
import { describeProblem, formatPath, type Warning } from "../config/diagnostics.ts";
import { FileWatch, type WatchedFiles } from "../config/files/watch.ts";
import type { Loaded } from "../config/load.ts";
import { type Clock, takeTurns } from "../model/clock.ts";
import { describeDefect } from "../model/defect.ts";
import type { ReloadTrigger, Report } from "../model/events.ts";
import type { App } from "./app.ts";
import { explainListenError } from "./listeners.ts";

interface ReloaderParts {
  readonly running: Pick<App, "config" | "apply">;
  /** @param changed paths that may have changed among the files of single sites; undefined: all may have changed */
  readonly load: (changed?: ReadonlySet<string>) => Promise<Loaded>;
  readonly clock: Clock;
  readonly report: Report;
  readonly onApplied: (config: Config) => void;
  /** Gets all warnings of a configuration, reported before or not. */
  readonly warn: (warnings: readonly Warning[]) => void;
}

/**
 * Reads the configuration again on request or when one of its files has changed, and applies it. A faulty configuration is
 * refused as a whole and reported. It is read again at the next change.
 */
export class Reloader {
  readonly #parts: ReloaderParts;
  readonly #watch: FileWatch;
  #isBusy = false;
  /** The reload after the present one: several requests while busy make one reload. */
  #next: { readonly trigger: ReloadTrigger; readonly changed: ReadonlySet<string> | undefined } | undefined;

  /** @param active the files and folders of the active configuration */
  constructor(parts: ReloaderParts, active: WatchedFiles) {
    this.#parts = parts;
    this.#watch = new FileWatch(parts.clock, (changed) => void this.reload("file_change", changed));
    this.#watch.follow(active);
  }

  /** @param changed see `load` */
  async reload(trigger: ReloadTrigger, changed?: ReadonlySet<string>): Promise<void> {
    const before = this.#next === undefined ? new Set<string>() : this.#next.changed;
    this.#next = { trigger, changed: before && changed && new Set([...before, ...changed]) };
    if (this.#isBusy) return;
    this.#isBusy = true;
    while (this.#next !== undefined) {
      const { trigger, changed } = this.#next;
      this.#next = undefined;
      await this.#readAgain(trigger, changed);
    }
    this.#isBusy = false;
  }

  /** Stops watching the files. */
  close(): void {
    this.#watch.close();
  }

  /** Not even a defect of ours may end a proxy that serves: it continues with the active configuration. */
  async #readAgain(trigger: ReloadTrigger, changed: ReadonlySet<string> | undefined): Promise<void> {
    try {
      await this.#apply(await this.#parts.load(changed), trigger);
    } catch (error) {
      this.#refuse(trigger, [this.#explain(error)]);
    }
  }

  async #apply(loaded: Loaded, trigger: ReloadTrigger): Promise<void> {
    const { onApplied, report, running, warn } = this.#parts;
    this.#watch.follow(loaded);
    await takeTurns();
    if (loaded.kind === "refused") return this.#refuse(trigger, loaded.problems.map(describeProblem));
    const { config, warnings } = loaded;
    const isChanged = config.hash !== running.config.hash;
    if (isChanged) await running.apply(config, trigger);
    // Also for an unchanged hash: a hash does not show, for example, who may read a file.
    warn(warnings);
    if (isChanged) onApplied(config);
    else report({ kind: "config_unchanged", hash: config.hash });
  }

  #refuse(trigger: ReloadTrigger, problems: readonly string[]): void {
    const { report, running } = this.#parts;
    const few = problems.slice(0, mostProblems);
    const { hash } = running.config;
    report({ kind: "config_refused", hash, trigger, problems: few, problemCount: problems.length });
  }

  #explain(error: unknown): string {
    const reason = explainListenError(error);
    if (reason !== undefined) return `Countersign cannot listen: ${reason}`;
    this.#parts.report({ kind: "defect", where: "reload", error: describeDefect(error) });
    return "Countersign failed in a way that it should not";
  }
}

/** A log line has at most so many: a thousand sites may lack the same secret. */
const mostProblems = 50;
/** At most so many warnings of one code get a line each: a thousand sites may have the same. */
const mostOfOneCode = 10;

/** Reports each warning of a configuration once: a reload reports only its new warnings. */
export function createWarner(report: Report): (warnings: readonly Warning[]) => void {
  let reported: ReadonlySet<Warning> = new Set();
  return (warnings) => {
    const keyOf = ({ code, path, message }: Warning) => `${code} ${path} ${message}`;
    // Unchanged sites, perhaps thousands, keep their warning objects: these are compared without keys.
    const present = new Set(warnings);
    const known = new Set([...reported].filter((warning) => !present.has(warning)).map(keyOf));
    const added = warnings.filter((warning) => !reported.has(warning) && !known.has(keyOf(warning)));
    for (const code of new Set(added.map(({ code }) => code))) {
      const alike = added.filter((warning) => warning.code === code);
      for (const [index, { path, message, fix }] of alike.slice(0, mostOfOneCode).entries()) {
        const isLast = index === mostOfOneCode - 1 && alike.length > mostOfOneCode;
        const more = isLast ? alike.length - mostOfOneCode : undefined;
        report({ kind: "configuration_warned", code, path: formatPath(path), message: `${message}; ${fix}`, more });
      }
    }
    reported = present;
  };
}
