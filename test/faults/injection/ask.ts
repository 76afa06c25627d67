import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { call } from "../../../testkit/call.ts";
import { authority } from "../../../testkit/certificates.ts";
import { sites } from "../../../testkit/faults-configuration.ts";
import { rawPost } from "../../../testkit/raw-caller.ts";
import type { Lane } from "./lane.ts";

/** The result of one request: its status, a bare close, or nothing for longer than any deadline. */
export type Reply = number | "closed" | "silent";

/** A short series of events for a proxy. Each of its callers must get a reply. */
export interface Scene {
  readonly name: string;
  play(lane: Lane): Promise<readonly Reply[]>;
}

const patienceMs = 8_000;

/** One order, or other bytes, on a connection of its own. */
export async function ask(lane: Lane, bytes: string, socket: Socket = connect(lane.socketPath)): Promise<Reply> {
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {});
  socket.write(bytes);
  const reply = await Promise.race([closed(socket), delay(patienceMs, "silent" as const)]);
  socket.destroy();
  const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status));
  return statuses.find((status) => status >= 200) ?? reply;
}

function closed(socket: Socket): Promise<"closed"> {
  return new Promise((resolve) => socket.once("close", () => resolve("closed")));
}

/** Header lines that choose a site. */
export const headers = { signed: `Countersign-Site: ${sites.hmac}`, authorised: `Countersign-Site: ${sites.oauth}` };
export const signed = (lane: Lane) => ask(lane, rawPost({ more: [headers.signed] }));
export const authorised = (lane: Lane) => ask(lane, rawPost({ more: [headers.authorised] }));

/** Sends some bytes and closes a moment later. */
export async function leave(lane: Lane, bytes: string): Promise<void> {
  const socket = connect(lane.socketPath).on("error", () => {});
  socket.write(bytes);
  await delay(40);
  socket.destroy();
}

/** A connection to the listener that demands certificates. */
export function secured(lane: Lane, more: ConnectionOptions = {}): Socket {
  return connectTls({
    host: "127.0.0.1",
    port: lane.tlsPort,
    ca: authority,
    checkServerIdentity: () => undefined,
    ...more,
  });
}

/** A reader that takes its time. */
export async function readSlowly(lane: Lane): Promise<readonly Reply[]> {
  const body = "x".repeat(6_000_000);
  lane.simulator.faults.add({ host: "api", kind: "answer", status: 200, body });
  const socket = connect(lane.socketPath).on("error", () => {});
  socket.write(rawPost({ more: [headers.signed] }));
  let isAnswered = false;
  socket.once("readable", () => {
    isAnswered = true;
    setTimeout(() => socket.resume(), 30);
  });
  await Promise.race([closed(socket), delay(patienceMs)]);
  socket.destroy();
  return [isAnswered ? 200 : "closed"];
}

/** The status of a page for probes, or for people. */
export const page = (lane: Lane, path: string, url = lane.adminUrl) =>
  call(url, "", { method: "GET", path }).then(
    ({ status }) => status,
    (): Reply => "closed",
  );

/** Settles the newest unknown outcome, as found. */
export async function settleNewest(lane: Lane): Promise<Reply> {
  try {
    const status = await call(lane.statusUrl, "", { method: "GET", path: "/status" });
    const [newest] = status.json.unknownOutcomes;
    const path = `/status/unknown/${newest?.requestId}`;
    return (await call(lane.statusUrl, '{"found":true}', { path })).status;
  } catch {
    return "closed";
  }
}
