/** In which cases a client's order arrives at the service twice, with Countersign between them. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { Simulator } from "../../simulator/src/service/simulator.ts";
import { call, order } from "../../testkit/call.ts";
import { listen } from "../../testkit/listen.ts";
import { stage } from "../../testkit/stage.ts";
import { startPod } from "../promises/reload/pod.ts";
import { runClient, type Variant } from "./measures.ts";

/** Longer than what Countersign reads whole before it passes an answer's head on. */
const longBytes = 200_000;
const halfOfLong = `HTTP/1.1 200 OK\r\nContent-Length: ${longBytes}\r\n\r\n${"x".repeat(longBytes / 2)}`;

/** A busy machine is no reason to refuse an order. */
const patient = { requestMs: 60_000, connectMs: 60_000, tokenMs: 60_000 };

/** The cases, in the words of the page. Each gives the client two orders, and returns how many requests arrived for them. */
const cases: Readonly<Record<string, (variant: Variant) => Promise<number>>> = {
  async "it is killed"(variant) {
    const { simulator, port, program } = await startPod();
    const url = await startBalancer([port, await startSecond(simulator)]);
    return during(variant, url, simulator, () => program.stop("SIGKILL"));
  },
  async "it drains"(variant) {
    const { simulator, port, proxy, recorder } = await stage();
    const url = await startBalancer([port, await startSecond(simulator)]);
    return during(variant, url, simulator, async (release) => {
      const stopped = proxy.stop("test");
      await recorder.nth("draining", 1);
      release();
      await stopped;
    });
  },
  async "it closes an idle connection meanwhile"(variant) {
    const { simulator, port, proxy, recorder } = await stage();
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const url = await startBalancer([port, await startSecond(simulator)], gate);
    const running = runClient(variant, { BASE_URL: url, COUNT: "2" });
    await recorder.nth("request_finished", 1);
    await proxy.stop("test");
    open();
    await running;
    return simulator.counts().apiRequests;
  },
  async "it reloads"(variant) {
    const { url, simulator, reload } = await stage();
    return during(variant, url, simulator, async (release) => {
      await reload({});
      release();
    });
  },
  async "it is overloaded"(variant) {
    const { url, simulator, recorder } = await stage({ limits: { inFlightPerEnvironment: 1 } });
    const held = simulator.faults.add({ host: "api", kind: "hang" });
    const other = call(url, order);
    await held.whenPlayed(1);
    const running = runClient(variant, { BASE_URL: url, COUNT: "1" });
    await recorder.nth("request_finished", 1);
    held.release();
    await Promise.all([other, running]);
    return simulator.counts().apiRequests;
  },
  async "a short answer breaks off"(variant) {
    const { url, simulator } = await stage();
    return during(variant, url, simulator, () => {}, { kind: "truncate" });
  },
  async "a long answer breaks off"(variant) {
    const { url, simulator } = await stage();
    return during(variant, url, simulator, () => {}, { kind: "raw", bytes: halfOfLong });
  },
};

/** "never", or the cases in which one of two orders arrived twice. */
export async function findDoubles(variant: Variant): Promise<string> {
  // A compiler blocks this process.
  variant.command();
  const doubled: string[] = [];
  for (const [name, play] of Object.entries(cases)) if ((await play(variant)) > 2) doubled.push(name);
  return doubled.length === 0 ? "never" : `when ${doubled.join(", when ")}`;
}

type Played = { readonly kind: "hang" | "truncate" } | { readonly kind: "raw"; readonly bytes: string };

/** Lets something happen as soon as the second of two orders has arrived. */
async function during(
  variant: Variant,
  url: string,
  { faults, counts }: Simulator,
  happen: (release: () => void) => unknown,
  played: Played = { kind: "hang" },
): Promise<number> {
  const first = faults.add({ host: "api", kind: "hang" });
  const running = runClient(variant, { BASE_URL: url, COUNT: "2" });
  await first.whenPlayed(1);
  const second = faults.add({ host: "api", ...played });
  first.release();
  await second.whenPlayed(1);
  await happen(second.release);
  await running;
  return counts().apiRequests;
}

/** The port of a second Countersign in front of the service. It has its token: what it cannot forward would not count as arrived. */
async function startSecond({ apiUrl, loginUrl }: Simulator): Promise<number> {
  const { port, recorder } = await stage({ baseUrl: apiUrl, authUrl: loginUrl, timeouts: patient });
  await recorder.nth("token_requested", 1);
  return port;
}

/**
 * Leads each connection to the first of these ports that accepts it.
 * @param gate answers wait for it; then the end of a connection arrives just after the caller's next bytes have left
 */
async function startBalancer(ports: readonly number[], gate?: Promise<void>): Promise<string> {
  const server = createServer(async (caller) => {
    caller.on("error", () => {});
    const target = await connectToFirst(ports);
    target.on("error", () => {});
    caller.on("data", (bytes) => void target.write(bytes)).on("close", () => target.destroy());
    target.on("data", async (bytes) => {
      await gate;
      caller.write(bytes);
    });
    target.on("close", async () => {
      await gate;
      if (gate === undefined) caller.end();
      else caller.once("data", () => caller.destroy());
    });
  });
  return `http://127.0.0.1:${await listen(server)}`;
}

async function connectToFirst([port = 0, ...others]: readonly number[]): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  return once(socket, "connect").then(
    () => socket,
    (error) => (others.length === 0 ? Promise.reject(error) : connectToFirst(others)),
  );
}
