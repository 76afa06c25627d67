/** With few descriptors orders are answered or refused, none is left half done, and the start says how many are missing. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, it } from "vitest";
import { fittingConnections, neededDescriptors, readDescriptorLimit } from "../../src/app/process-limits.ts";
import { bundle } from "../../testkit/bundle.ts";
import { call } from "../../testkit/call.ts";
import { freePort } from "../../testkit/free-port.ts";
import { rawAnswer, startRawUpstream } from "../../testkit/raw-upstream.ts";
import { type Program, startProgram } from "../../testkit/run-program.ts";
import { writeServed } from "./served.ts";

const descriptors = 64;
const orders = 200;
const body = '{"order_amount":10,"order_currency":"EUR"}';
const orderBytes = `POST /create_order HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const rounds = 3;

it.skipIf(process.platform !== "linux")(
  "serves some of a crowd that comes before there is a connection to the service",
  async () => {
    const { upstream, port, program } = await stage();
    const statuses = await crowd(program, port);
    const served = statuses.filter((status) => status === 200).length;
    // At least as many as it serves at once; more are served when those have gone.
    expect(served).toBeGreaterThanOrEqual(12);
    expect(upstream.requests).toHaveLength(served);
    expect(statuses.filter((status) => ![200, 503, undefined].includes(status))).toEqual([]);
  },
);

it.skipIf(process.platform !== "linux")(
  "answers, refuses and recovers, and says at its start how many descriptors are missing",
  async () => {
    const { upstream, port, program } = await stage();
    const figures =
      "may open 64 descriptors and the limits need 1536, so each listener serves 12 connections, not 1024: ";
    expect(program.stdout()).toContain(`"message":"the process ${figures}`);
    let answered = 0;
    for (let round = 1; round <= rounds; round++) {
      const send = () => call(`http://127.0.0.1:${port}`).catch(() => undefined);
      const answers = await Promise.all(Array.from({ length: orders }, send));
      const served = answers.filter((answer) => answer?.status === 200).length;
      const refused = answers.filter((answer) => answer !== undefined && answer.status !== 200);
      expect(served).toBeGreaterThan(0);
      expect(served).toBeLessThan(orders);
      for (const answer of refused) expect(answer?.json).toMatchObject({ outcome: "not_sent" });
      answered += served;
      expect(upstream.requests).toHaveLength(answered);
      // As soon as the crowd has gone, orders are served.
      await expect.poll(() => call(`http://127.0.0.1:${port}`).then(({ status }) => status, String)).toBe(200);
      answered = upstream.requests.length;
    }
    expect(await program.stop()).toBe(0);
    expect(program.stderr()).toBe("");
  },
);

/** Newer versions of Node open the files of a program one after another. */
const opensAllAtOnce = process.platform === "linux" && Number.parseInt(process.versions.node, 10) < 22;

it.runIf(opensAllAtOnce)("says in one line that not even its own files can be opened", async () => {
  const program = startWithFew("dist/unbundled.js", "nothing.yaml");
  expect(await program.ended).toBe(2);
  expect(program.stderr()).toBe(
    "Countersign cannot start: it may open too few files. Raise ulimit -n, to 1024 at least.\n",
  );
});

/** A configuration with so many listeners, one of them for callbacks if there are several, and environments. */
function configOf(listeners: number, environments: number): Parameters<typeof neededDescriptors>[0] {
  return {
    listeners: Array.from({ length: Math.max(1, listeners - 1) }),
    callbacks: Array.from({ length: listeners > 1 ? 1 : 0 }),
    environments: new Map(Array.from({ length: environments }, (_, index) => [`e${index}`, {}])),
    limits: { connections: 1_024, inFlightPerEnvironment: 256, bodyBytes: 1 },
  } as unknown as Parameters<typeof neededDescriptors>[0];
}

it("counts the descriptors that the limits need, and leaves some for connections to the service", () => {
  expect(neededDescriptors(configOf(2, 1))).toBe(2 * 1_024 + 2 * 256 + 256);
  expect(fittingConnections(configOf(1, 1), undefined)).toBe(undefined);
  expect(fittingConnections(configOf(1, 1), 2_560)).toBe(undefined);
  // Enough for all served connections, but not for as many further ones that are refused with 503.
  expect(fittingConnections(configOf(1, 1), 2_559)).toEqual({ accepted: 2_047, served: 1_024 });
  expect(fittingConnections(configOf(3, 2), 5_000)).toEqual({ accepted: 1_325, served: 1_024 });
  expect(fittingConnections(configOf(1, 1), 1_536)).toEqual({ accepted: 1_024, served: 1_024 });
  expect(fittingConnections(configOf(1, 1), 1_535)).toEqual({ accepted: 1_023, served: 767 });
  expect(fittingConnections(configOf(1, 1), 1_024)).toEqual({ accepted: 512, served: 384 });
  expect(fittingConnections(configOf(3, 2), 1_024)).toEqual({ accepted: 128, served: 96 });
  expect(fittingConnections(configOf(1, 1), 64)).toEqual({ accepted: 16, served: 12 });
  expect(fittingConnections(configOf(3, 2), 32)).toEqual({ accepted: 2, served: 1 });
  const few = {
    ...configOf(1, 8),
    limits: { connections: 16, inFlightPerEnvironment: 256, bodyBytes: 1, responseHeaderBytes: 1 },
  };
  expect(fittingConnections(few, 1_024)).toEqual({ accepted: 32, served: 16 });
});

it("reads the limit of descriptors, on Linux and elsewhere", () => {
  const line = (soft: string) => `Max open files            ${soft}                   128                  files\n`;
  expect(readDescriptorLimit(line("64"))).toBe(64);
  expect(readDescriptorLimit(line("unlimited"))).toBe(undefined);
  const own = spawnSync("sh", ["-c", "ulimit -n"], { encoding: "utf8" }).stdout.trim();
  expect(readDescriptorLimit("")).toBe(own === "unlimited" ? undefined : Number(own));
});

/** Node raises the soft limit by itself, so both are set. */
function startWithFew(main: string, file: string): Program {
  const line = `ulimit -n ${descriptors}; exec "$0" "$1" serve --config "$2"`;
  return startProgram("sh", ["-c", line, process.execPath, main, file]);
}

/** A process with few descriptors, in front of a service that takes 100 ms for an order. */
async function stage() {
  const bytes = rawAnswer(200, '{"order_id":"order_1"}');
  const upstream = await startRawUpstream({ answer: (_, socket) => void setTimeout(() => socket.write(bytes), 100) });
  const port = await freePort();
  const program = startWithFew(bundle(), writeServed(upstream.url, `127.0.0.1:${port}`, ""));
  await program.line((line) => line.includes('"event":"started"'));
  return { upstream, port, program };
}

/** The status of each order of a crowd that is accepted at once; undefined for a connection that is closed without an answer. */
async function crowd(program: Program, port: number): Promise<(number | undefined)[]> {
  program.child.kill("SIGSTOP");
  const sockets = Array.from({ length: orders }, () => connect(port, "127.0.0.1"));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  const statusOf = (socket: Socket) =>
    new Promise<number | undefined>((resolve) => {
      socket.once("data", (bytes) => resolve(Number(String(bytes).split(" ")[1])));
      socket.once("error", () => resolve(undefined)).once("close", () => resolve(undefined));
      socket.write(orderBytes);
    });
  const statuses = sockets.map((socket) => statusOf(socket).finally(() => socket.destroy()));
  program.child.kill("SIGCONT");
  return Promise.all(statuses);
}
