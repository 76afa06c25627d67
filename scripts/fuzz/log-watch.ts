import type { Broken } from "./judge.ts";
import { canaries } from "./secrets.ts";

const patienceMs = 15_000;

/** Reads a proxy's log as it is written: every line an object, none with a defect or a secret. */
export class LogWatch {
  #broken: Broken[] = [];
  #waiting: { readonly text: string; readonly wake: () => void }[] = [];
  #isClosed = false;

  add(line: string): void {
    this.#broken.push(...judgeLine(line));
    for (const { wake } of this.#waiting.filter(({ text }) => line.includes(text))) wake();
    this.#waiting = this.#waiting.filter(({ text }) => !line.includes(text));
  }

  /** Nothing more will come. */
  close(): void {
    this.#isClosed = true;
    for (const { wake } of this.#waiting) wake();
  }

  take(): Broken[] {
    const taken = this.#broken;
    this.#broken = [];
    return taken;
  }

  /** @returns whether it came, in time and before the end */
  whenLogged(text: string): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), patienceMs);
      const wake = () => {
        clearTimeout(timer);
        resolve(!this.#isClosed);
      };
      this.#waiting.push({ text, wake });
    });
  }
}

export function judgeLine(line: string): Broken[] {
  const broken: Broken[] = [];
  if (canaries.some((canary) => line.includes(canary))) broken.push({ oracle: "secret_in_log", seen: "a log line" });
  try {
    const { event, where, error } = JSON.parse(line);
    if (event === "defect") broken.push({ oracle: "defect_logged", seen: `${where}: ${error}`.slice(0, 400) });
    if (typeof event !== "string") broken.push({ oracle: "log_malformed", seen: "a line without an event" });
  } catch {
    broken.push({ oracle: "log_malformed", seen: "a line that is not JSON" });
  }
  return broken;
}
