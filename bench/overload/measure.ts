import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Simulator, startSimulator } from "../../simulator/src/service/simulator.ts";
import type { SimulatedSite } from "../../simulator/src/service/sites.ts";
import { call } from "../../testkit/call.ts";
import { ConfigWriter, sandboxConfig } from "../../testkit/config-writer.ts";
import { Children, type Serving, startServing } from "../../testkit/processes.ts";
import type { Options } from "./options.ts";
import type { Load, Stretch } from "./stretch.ts";

/** A stretch of load, with measurements from outside the load process. */
export interface Measured extends Stretch {
  /** How many times the peak was offered; undefined for the peak itself. */
  readonly times: number | undefined;
  /** How long each request for /livez took; infinite if its status was not 200. */
  readonly liveMs: readonly number[];
  /** Orders that the service has created during the stretch. */
  readonly created: number;
}

/** The site signs, so that no authorization server is involved; the secret is made up and public. */
const site: SimulatedSite = {
  identifier: "S1000000003",
  keys: [{ identifier: "K2000000001", secret: "example-api-secret-of-the-bench" }],
};

const timesOfPeak = [1, 2, 10] as const;
const askLiveEveryMs = 50;
/** Until code is compiled and connections are open. */
const warmUpMs = 1_000;

/** Measures the peak, then 1, 2 and 10 times as much. */
export async function measure(options: Options, onMeasured: (measured: Measured) => void): Promise<Measured[]> {
  const { inFlight, serviceMs, seconds } = options;
  const children = new Children();
  const simulator = await startSimulator({ sites: [site] });
  simulator.faults.add({ host: "api", kind: "delay", delayMs: serviceMs, times: "until_cleared" });
  const proxy = await startProxy(children, simulator.apiUrl, inFlight);
  const loading = fork(fileURLToPath(new URL("load.ts", import.meta.url)), [proxy.url], {
    execArgv: ["--import", "tsx"],
  });
  const all: Measured[] = [];
  const play = async (times: number | undefined, load: Load) => {
    const measured = await playStretch({ simulator, proxy, loading }, times, load);
    all.push(measured);
    onMeasured(measured);
    return measured;
  };
  try {
    const lastsMs = seconds * 1_000;
    await ask(loading, { kind: "callers", callers: inFlight, lastsMs: warmUpMs });
    const { goodputPerSecond } = await play(undefined, { kind: "callers", callers: inFlight, lastsMs });
    for (const times of timesOfPeak) {
      await play(times, { kind: "rate", perSecond: times * goodputPerSecond, lastsMs });
    }
    return all;
  } finally {
    loading.disconnect();
    await children.endAll();
    await simulator.stop();
  }
}

/** The built command, with a limit on requests in flight. Its folder is removed with this process. */
function startProxy(children: Children, baseUrl: string, inFlight: number): Promise<Serving> {
  const writer = new ConfigWriter("overload");
  const sandbox = { baseUrl, authUrl: "http://127.0.0.1:1", sites: writer.sites([site]) };
  const limits = { inFlightPerEnvironment: inFlight, connections: 10_000 };
  const writeConfig = (port: number) =>
    writer.config("countersign.yaml", sandboxConfig([`127.0.0.1:${port}`], sandbox, { limits }));
  return startServing({ children, writeConfig, onLine: () => {} });
}

interface Parts {
  readonly simulator: Simulator;
  readonly proxy: Serving;
  readonly loading: ChildProcess;
}

async function playStretch({ simulator, proxy, loading }: Parts, times: number | undefined, load: Load) {
  const before = simulator.counts().accepted;
  const stretch = ask(loading, load);
  const liveMs = await watchLiveness(proxy.adminUrl, stretch);
  return { ...(await stretch), times, liveMs, created: simulator.counts().accepted - before };
}

async function ask(loading: ChildProcess, load: Load): Promise<Stretch> {
  const answered = once(loading, "message");
  loading.send(load);
  const [stretch]: Stretch[] = await answered;
  if (stretch === undefined) throw new Error("the load process says nothing");
  return stretch;
}

/** Requests /livez again and again until the work is done. */
async function watchLiveness(adminUrl: string, work: Promise<unknown>): Promise<number[]> {
  let isOver = false;
  const stop = () => {
    isOver = true;
  };
  work.then(stop, stop);
  const all: number[] = [];
  while (!isOver) {
    const sinceMs = performance.now();
    const { status } = await call(adminUrl, "", { path: "/livez", method: "GET" });
    all.push(status === 200 ? performance.now() - sinceMs : Number.POSITIVE_INFINITY);
    await new Promise((resolve) => setTimeout(resolve, askLiveEveryMs));
  }
  return all;
}
