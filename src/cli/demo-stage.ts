import { loadConfig } from "../config/load.ts";
import { formatProblems } from "../config/print-problems.ts";
import type { Event, RequestFinished } from "../events.ts";
import { type Simulator, startSimulator } from "../simulator/simulator.ts";
import { start } from "../wiring/start.ts";
import { usageFailure } from "./command.ts";
import { writeFolder } from "./demo-folder.ts";
import { choosePorts, type DemoPorts, usualPorts } from "./demo-ports.ts";
import { exampleSites } from "./demo-sites.ts";

/** The real proxy, started from a real configuration file, with the simulated service behind it. */
export interface Demo {
  readonly simulator: Simulator;
  readonly ports: DemoPorts;
  /** Wanted ports that somebody else has. */
  readonly taken: readonly number[];
  /** What an application calls. */
  readonly url: string;
  readonly statusUrl: string;
  readonly metricsUrl: string;
  readonly configFile: string;
  /** How a request ended for Countersign itself, by the answer's Countersign-Request-Id. */
  finished(requestId: string): Promise<RequestFinished>;
  /** Drains, ends everything, removes the folder. */
  close(signal: string): Promise<void>;
}

/** Ports may be taken between choosing and listening. */
const mostTries = 3;

export async function openDemo(wanted: DemoPorts = usualPorts): Promise<Demo> {
  for (let tries = 1; ; tries++) {
    try {
      return await open(wanted, await choosePorts(wanted));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE" || tries === mostTries) throw error;
    }
  }
}

async function open(wanted: DemoPorts, ports: DemoPorts): Promise<Demo> {
  const simulator = await startSimulator({ apiPort: ports.api, loginPort: ports.login, sites: exampleSites });
  const addresses = { ports, baseUrl: simulator.apiUrl, authUrl: simulator.loginUrl };
  const folder = await writeFolder(addresses, exampleSites).catch(async (error) => {
    await simulator.stop();
    throw error;
  });
  const facts = new Finishes();
  const proxy = await startProxy(folder.file, facts).catch(async (error) => {
    folder.remove();
    await simulator.stop();
    throw error;
  });
  // One for each site with credentials of its own; from here on every token request has a scene as its cause.
  const owners = exampleSites.filter(({ credentials }) => credentials !== undefined);
  await simulator.seen.whenTokenAnswers(owners.length);
  return {
    simulator,
    ports,
    taken: Object.values(wanted).filter((port) => port !== 0 && !Object.values(ports).includes(port)),
    url: `http://127.0.0.1:${ports.listener}`,
    statusUrl: `http://127.0.0.1:${ports.status}/status`,
    metricsUrl: `http://127.0.0.1:${ports.admin}/metrics`,
    configFile: folder.file,
    finished: (requestId) => facts.of(requestId),
    async close(signal) {
      await proxy.stop(signal);
      await simulator.stop();
      folder.remove();
    },
  };
}

async function startProxy(file: string, facts: Finishes) {
  const loaded = await loadConfig(file);
  if (loaded.kind === "refused") throw usageFailure(formatProblems(file, loaded.problems));
  return start(loaded.config, { report: facts.report });
}

/** The last requests that ended. The fact comes a moment after the answer, so it may have to be waited for. */
class Finishes {
  readonly #ended = new Map<string, RequestFinished>();
  readonly #awaited = new Map<string, (event: RequestFinished) => void>();

  readonly report = (event: Event): void => {
    if (event.kind !== "request_finished") return;
    const { requestId } = event;
    this.#ended.set(requestId, event);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > 100 && oldest !== undefined) this.#ended.delete(oldest);
    this.#awaited.get(requestId)?.(event);
    this.#awaited.delete(requestId);
  };

  of(requestId: string): Promise<RequestFinished> {
    const ended = this.#ended.get(requestId);
    if (ended !== undefined) return Promise.resolve(ended);
    return new Promise((resolve) => this.#awaited.set(requestId, resolve));
  }
}
