import type { Config } from "../config/config.ts";
import type { Problem } from "../config/diagnostics.ts";
import { describeProblem } from "../config/diagnostics.ts";
import type { Loaded } from "../config/load.ts";
import type { FileDigests } from "../config/watch.ts";
import { FileWatch } from "../config/watch.ts";
import type { Clock } from "../model/clock.ts";
import { describeDefect } from "../model/defect.ts";
import type { Report } from "../model/events.ts";
import type { ReloadTrigger } from "../model/process-events.ts";
import { explainListenError } from "./explain-listen-error.ts";
import type { Running } from "./start.ts";

export interface ReloaderParts {
  readonly running: Pick<Running, "config" | "apply">;
  readonly load: () => Promise<Loaded>;
  readonly clock: Clock;
  readonly report: Report;
  readonly onApplied: (config: Config) => void;
  /** Hears of all warnings of a configuration, told before or not. */
  readonly warn: (warnings: readonly Problem[]) => void;
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
  constructor(parts: ReloaderParts, files: FileDigests) {
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

  /** Not even a defect of ours may end a proxy that serves: it goes on with what it has. */
  async #readAgain(trigger: ReloadTrigger): Promise<void> {
    try {
      await this.#takeUp(await this.#parts.load(), trigger);
    } catch (error) {
      this.#refuse(trigger, [this.#explain(error)]);
    }
  }

  async #takeUp(loaded: Loaded, trigger: ReloadTrigger): Promise<void> {
    const { onApplied, report, running, warn } = this.#parts;
    this.#watch.follow(loaded.files);
    if (loaded.kind === "refused") return this.#refuse(trigger, loaded.problems.map(describeProblem));
    const { config, warnings } = loaded;
    const previousHash = running.config.hash;
    if (config.hash === previousHash) {
      // Also what a hash does not show, such as who may read a file.
      warn(warnings);
      return report({ kind: "config_unchanged", hash: previousHash });
    }
    await running.apply(config, trigger);
    warn(warnings);
    onApplied(config);
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
