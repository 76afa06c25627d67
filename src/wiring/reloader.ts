import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { FilePrints } from "../config/file-prints.ts";
import type { Loaded } from "../config/load.ts";
import { describeProblem } from "../config/print-problems.ts";
import { FileWatch } from "../config/watch-files.ts";
import { describeDefect } from "../defect.ts";
import type { ReloadTrigger, Report } from "../events.ts";
import { explainListenError } from "./explain-listen-error.ts";
import type { Running } from "./start.ts";

export interface ReloaderParts {
  readonly running: Running;
  readonly load: () => Promise<Loaded>;
  readonly clock: Clock;
  readonly report: Report;
  readonly onApplied: (config: Config) => void;
}

/**
 * Reads the configuration again when asked to or when one of its files has changed, and puts it in force. What is wrong is
 * refused as a whole, told, and tried again at the next change.
 */
export class Reloader {
  readonly #parts: ReloaderParts;
  readonly #watch: FileWatch;
  #isBusy = false;
  /** Asked while busy: once more afterwards, however often it was. */
  #next: ReloadTrigger | undefined;

  /** @param files what the configuration in force was read from */
  constructor(parts: ReloaderParts, files: FilePrints) {
    this.#parts = parts;
    this.#watch = new FileWatch(parts.clock, () => void this.reload("file_change"));
    this.#watch.follow(files);
  }

  async reload(trigger: ReloadTrigger): Promise<void> {
    this.#next = trigger;
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let next = this.#takeNext(); next !== undefined; next = this.#takeNext()) await this.#readAgain(next);
    this.#isBusy = false;
  }

  /** Watches no more. */
  close(): void {
    this.#watch.close();
  }

  #takeNext(): ReloadTrigger | undefined {
    const next = this.#next;
    this.#next = undefined;
    return next;
  }

  async #readAgain(trigger: ReloadTrigger): Promise<void> {
    const { load, report, running } = this.#parts;
    const loaded = await load();
    this.#watch.follow(loaded.files);
    if (loaded.kind === "refused") return this.#refuse(trigger, loaded.problems.map(describeProblem));
    const { config, warnings } = loaded;
    const previousHash = running.config.hash;
    if (config.hash === previousHash) return report({ kind: "config_unchanged", hash: previousHash });
    try {
      await running.follow(config, trigger);
    } catch (error) {
      return this.#refuse(trigger, [this.#explain(error)]);
    }
    for (const { path, message } of warnings) report({ kind: "configuration_warned", path, message });
    this.#parts.onApplied(config);
  }

  #refuse(trigger: ReloadTrigger, problems: readonly string[]): void {
    const { report, running } = this.#parts;
    report({ kind: "config_refused", hash: running.config.hash, trigger, problems });
  }

  #explain(error: unknown): string {
    const reason = explainListenError(error);
    if (reason !== undefined) return `Countersign cannot listen: ${reason}`;
    this.#parts.report({ kind: "defect", where: "reload", error: describeDefect(error) });
    return "Countersign failed in a way that it should not";
  }
}
