import type { RequestFinished } from "countersign/model/events";
import { configuredSites, exampleSites } from "../example-sites.ts";
import { type Simulator, startSimulator } from "../service/simulator.ts";
import { writeFolder } from "./folder.ts";
import { choosePorts, type DemoPorts, usualPorts } from "./ports.ts";
import { startProxy } from "./proxy.ts";

/** The real proxy, started from a real configuration file, with the simulated service behind it. */
export interface Demo {
  readonly simulator: Simulator;
  readonly ports: DemoPorts;
  /** Wanted ports that other programs use. */
  readonly taken: readonly number[];
  /** The base URL for an application. */
  readonly url: string;
  /** Below it, `/` is the status page, and `/status` is the same as JSON. */
  readonly statusUrl: string;
  readonly metricsUrl: string;
  readonly configFile: string;
  /** Reads configuration and secrets again, as after SIGHUP. */
  reload(): void;
  /** Countersign's own report of a request's end, by the answer's Countersign-Request-Id. */
  finished(requestId: string): Promise<RequestFinished>;
  /** Drains, ends everything, removes the folder. */
  close(signal: string): Promise<void>;
}

/** Ports may be taken between choosing and listening. */
const mostTries = 3;

/** @param folder for configuration, secrets and log; see `writeFolder` */
export async function openDemo(wanted: DemoPorts = usualPorts, folder?: string): Promise<Demo> {
  for (let tries = 1; ; tries++) {
    try {
      return await open(wanted, await choosePorts(wanted), folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE" || tries === mostTries) throw error;
    }
  }
}

async function open(wanted: DemoPorts, ports: DemoPorts, folderName: string | undefined): Promise<Demo> {
  const simulator = await startSimulator({ apiPort: ports.api, loginPort: ports.login, sites: exampleSites });
  const addresses = { ports, baseUrl: simulator.apiUrl, authUrl: simulator.loginUrl };
  const folder = await writeFolder(addresses, folderName).catch(async (error) => {
    await simulator.stop();
    throw error;
  });
  const proxy = await startProxy(folder).catch(async (error) => {
    folder.remove();
    await simulator.stop();
    throw error;
  });
  // One token for each site with its own credentials. Every later token request is caused by a scene.
  const owners = configuredSites.filter(({ credentials }) => credentials !== undefined);
  await simulator.seen.whenTokenAnswers(owners.length);
  return {
    simulator,
    ports,
    taken: Object.values(wanted).filter((port) => port !== 0 && !Object.values(ports).includes(port)),
    url: `http://127.0.0.1:${ports.listener}`,
    statusUrl: `http://127.0.0.1:${ports.status}`,
    metricsUrl: `http://127.0.0.1:${ports.admin}/metrics`,
    configFile: folder.file,
    finished: proxy.finished,
    reload: proxy.reload,
    async close(signal) {
      await proxy.stop(signal);
      await simulator.stop();
      folder.remove();
    },
  };
}
