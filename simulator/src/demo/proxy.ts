import { EventEmitter, once } from "node:events";
import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { createLogging } from "countersign/adapters/log/logger";
import { start } from "countersign/app/app";
import { createWarner, Reloader } from "countersign/app/reload";
import { loadOrRefuse } from "countersign/cli/load-or-refuse";
import type { Config } from "countersign/config/config";
import { loadConfig } from "countersign/config/load";
import { systemClock } from "countersign/model/clock";
import type { Event, RequestFinished } from "countersign/model/events";
import type { DemoFolder } from "./folder.ts";

/** The proxy of the demo: as `serve` runs it, but it logs to a file, and reports how requests end. */
export interface DemoProxy {
  /** How a request ended, by the answer's Countersign-Request-Id. */
  finished(requestId: string): Promise<RequestFinished>;
  /** Reads configuration and secrets again, as after SIGHUP. */
  reload(): void;
  stop(signal: string): Promise<void>;
}

export async function startProxy({ file, logFile }: Pick<DemoFolder, "file" | "logFile">): Promise<DemoProxy> {
  const load = () => loadConfig(file);
  const first = await loadOrRefuse(file);
  const { config, warnings } = first;
  const log = createWriteStream(logFile, { mode: 0o600 });
  // A full disk is no reason to end the demo.
  log.on("error", () => {});
  const { report: write, setLevel } = createLogging(config.log.level, log);
  const finishes = new Finishes();
  const report = (event: Event) => {
    finishes.note(event);
    write(event);
  };
  const warn = createWarner(report);
  warn(warnings);
  // The folder must not be removed while the log is still being opened.
  const closeLog = () => finished(log.destroy()).catch(() => {});
  const running = await start(config, { report }).catch(async (error) => {
    await closeLog();
    throw error;
  });
  const onApplied = ({ log: { level } }: Config) => setLevel(level);
  const reloader = new Reloader({ running, load, clock: systemClock, report: running.report, onApplied, warn }, first);
  return {
    finished: (requestId) => finishes.of(requestId),
    reload: () => void reloader.reload("sighup"),
    async stop(signal) {
      reloader.close();
      await running.stop(signal);
      await closeLog();
    },
  };
}

/** The requests that ended last. The event comes a moment after the answer, so a caller may have to wait for it. */
class Finishes {
  readonly #ended = new Map<string, RequestFinished>();
  readonly #endings = new EventEmitter();

  note(event: Event): void {
    if (event.kind !== "request_finished") return;
    this.#ended.set(event.requestId, event);
    const [oldest = ""] = this.#ended.keys();
    if (this.#ended.size > 100) this.#ended.delete(oldest);
    this.#endings.emit(event.requestId, event);
  }

  async of(requestId: string): Promise<RequestFinished> {
    return this.#ended.get(requestId) ?? (await once(this.#endings, requestId))[0];
  }
}
