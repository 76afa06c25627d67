import { setTimeout as sleep } from "node:timers/promises";
import { call } from "../../testkit/call.ts";

const askEveryMs = 250;

/** Requests /livez of each replica, during all faults; not of a replica that is about to end. */
export class LivenessWatch {
  readonly #watched = new Set<string>();
  /** The results of these requests. */
  readonly liveness = { asked: 0, failed: 0, slowestMs: 0 };

  watch(adminUrl: string): void {
    this.#watched.add(adminUrl);
    void this.#askOn(adminUrl);
  }

  leave(adminUrl: string): void {
    this.#watched.delete(adminUrl);
  }

  close(): void {
    this.#watched.clear();
  }

  async #askOn(adminUrl: string): Promise<void> {
    while (this.#watched.has(adminUrl)) {
      const sinceMs = performance.now();
      const isLive = await call(adminUrl, "", { method: "GET", path: "/livez" }).then(
        ({ status }) => status === 200,
        () => false,
      );
      // The replica may have been told to end meanwhile.
      if (!this.#watched.has(adminUrl)) return;
      this.liveness.asked += 1;
      if (!isLive) this.liveness.failed += 1;
      this.liveness.slowestMs = Math.max(this.liveness.slowestMs, performance.now() - sinceMs);
      await sleep(askEveryMs);
    }
  }
}
