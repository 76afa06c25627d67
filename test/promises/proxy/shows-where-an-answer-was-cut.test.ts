/** Rows 64 and 91: an answer that was cut looks cut and counts as `unknown`, above all if the close would be its end. */
import type { NetConnectOpts, Socket } from "node:net";
import { join } from "node:path";
import type { ConnectionOptions } from "node:tls";
import { describe, expect, it } from "vitest";
import { serverTls, trusting } from "../../../testkit/certificates.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { orderToTheEnd } from "../../../testkit/raw-caller.ts";
import { startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, type Stage, stageProxy } from "../../../testkit/stage.ts";
import { known, payments, stageWithCallers } from "./callers.ts";

const body = '{"order_id":"order_1","status":"created"}';
const framings = {
  close: `HTTP/1.1 200 OK\r\nX-A: b\r\n\r\n${body}`,
  length: `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  chunks: `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
} as const;
type Framing = keyof typeof framings;

/** With the code and the cause of an answer that was cut so. */
const breaks = {
  /** The last bytes and the reset arrive together. */
  "a reset with the last bytes": [(socket) => socket.resetAndDestroy(), "upstream_reset", "ECONNRESET"],
  "a reset after them": [(socket) => setTimeout(() => socket.resetAndDestroy(), 20), "upstream_reset", "ECONNRESET"],
  "an orderly end": [(socket) => socket.end(), "upstream_reset", "CONNECTION_CLOSED"],
  "silence until the deadline": [() => {}, "upstream_timeout", "incomplete answer"],
} satisfies Record<string, [breakOff: (socket: Socket) => unknown, code: string, cause: string]>;
type Break = keyof typeof breaks;

const signed = [`Countersign-Site: ${hmacSite}`];
const hurried = [...signed, "Countersign-Timeout-Ms: 1000"];

/** A service that answers the n-th order with the given bytes, and then ends the connection as given. */
async function serviceThat(answer: (orderNumber: number) => { readonly bytes: string; readonly how: Break }) {
  return startRawUpstream({
    answer: ({ number }, socket) => {
      const { bytes, how } = answer(number);
      const [breakOff] = breaks[how];
      socket.setNoDelay(true).write(bytes, "latin1", () => breakOff(socket));
    },
  });
}

type Target = NetConnectOpts | ConnectionOptions;
type Staged = Pick<Stage, "recorder"> & { readonly to: Target };

const listeners: Readonly<Record<string, (baseUrl: string) => Promise<Staged>>> = {
  async TCP(baseUrl) {
    const { recorder, port } = await stageProxy({ baseUrl });
    return { recorder, to: { port, host: "127.0.0.1" } };
  },
  async TLS(baseUrl) {
    const { recorder, port } = await stageWithCallers(payments, { baseUrl });
    return { recorder, to: { ...known, host: "localhost", port } };
  },
  async "a Unix socket"(baseUrl) {
    const folder = emptyFolder();
    const path = join(folder, "app.sock");
    const listeners = [{ bind: { kind: "unix", path } as const, environment: "sandbox", hosts: [] }];
    const { recorder } = await stageProxy({ baseUrl, config: { listeners } });
    return { recorder, to: { path } };
  },
};

const cuts: readonly (readonly [Framing, Break])[] = [
  ["close", "a reset with the last bytes"],
  ["close", "a reset after them"],
  ["close", "silence until the deadline"],
  ["length", "a reset with the last bytes"],
  ["length", "an orderly end"],
  ["length", "silence until the deadline"],
  ["chunks", "a reset with the last bytes"],
  ["chunks", "an orderly end"],
  ["chunks", "silence until the deadline"],
];

describe.each(Object.entries(listeners))("a caller over %s", (kind, open) => {
  const canBeReset = kind !== "a Unix socket";

  it.each(cuts)("sees where an answer ended by %s was cut by %s", async (framing, how) => {
    const bytes = framings[framing].slice(0, framings[framing].indexOf(body) + 20);
    const { url } = await serviceThat(() => ({ bytes, how }));
    const { recorder, to } = await open(url);
    const more = how === "silence until the deadline" ? hurried : signed;
    const { answer, end } = await orderToTheEnd(to, { connection: [], more });
    expect(answer).toMatchObject({ status: 200, isComplete: false });
    expect(end).toBe(canBeReset ? "rst" : "fin");
    // A connection that cannot be reset shows the cut by a missing last chunk.
    if (!canBeReset && framing === "close") expect(answer.value("transfer-encoding")).toBe("chunked");
    const [, code, cause] = breaks[how];
    const finished = await recorder.nth("request_finished", 1);
    expect(finished).toMatchObject({ outcome: "unknown", code, cause, status: 200, by: "service", callerLeft: false });
  });

  it("that closes its half sees where its answer was then cut", async () => {
    const { url } = await serviceThat(() => ({
      bytes: framings.close.slice(0, -10),
      how: "silence until the deadline",
    }));
    const { recorder, to } = await open(url);
    const { answer, end } = await orderToTheEnd(to, { connection: [], more: hurried }, { closesHalf: true });
    expect(answer).toMatchObject({ status: 200, isComplete: false });
    expect(end).toBe(canBeReset ? "rst" : "fin");
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ outcome: "unknown", callerLeft: true });
  });

  it("sees the orderly end of an answer that the close ends", async () => {
    const { url } = await serviceThat(() => ({ bytes: framings.close, how: "an orderly end" }));
    const { recorder, to } = await open(url);
    const { answer, end } = await orderToTheEnd(to, { connection: [], more: signed });
    expect(answer).toMatchObject({ status: 200, body, isComplete: !canBeReset });
    expect(end).toBe("fin");
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ outcome: "answered", code: undefined });
  });
});

const versions = ["TLSv1.2", "TLSv1.3"] as const;

/** The proxy before a service over TLS that answers with these bytes, and then does `end` with TLS and TCP. */
async function stageTls(
  version: (typeof versions)[number],
  bytes: string,
  end: (socket: Socket, below: Socket | undefined) => void,
) {
  const sockets = new Map<number | undefined, Socket>();
  const { url } = await startRawUpstream({
    tls: { ...serverTls, maxVersion: version },
    accept: (socket) => void sockets.set(socket.remotePort, socket),
    answer: (_request, socket) => void socket.write(bytes, () => end(socket, sockets.get(socket.remotePort))),
  });
  return stageProxy({ baseUrl: url, environment: { tls: trusting } });
}

it.each(versions)("shows where a service over %s was reset", async (version) => {
  const { recorder, port } = await stageTls(version, framings.close.slice(0, -10), (_, below) => {
    below?.resetAndDestroy();
  });
  for (let n = 1; n <= 20; n++) {
    const { answer, end } = await orderToTheEnd({ port, host: "127.0.0.1" }, { more: signed });
    const finished = await recorder.nth("request_finished", n);
    expect({ end, code: finished.code }).toEqual({
      end: answer.status === 200 ? "rst" : "fin",
      code: "upstream_reset",
    });
    expect(finished.outcome).toBe("unknown");
  }
});

const closes = {
  "FIN without a closure alert": (_: Socket, below: Socket | undefined) => below?.end(),
  "a closure alert": (socket: Socket) => socket.end(),
} as const;

describe.each(versions)("over %s", (version) => {
  const endings = Object.keys(closes) as (keyof typeof closes)[];

  it.each(endings)("an answer that only the close ends is never whole: %s", async (how) => {
    const { recorder, port } = await stageTls(version, framings.close, closes[how]);
    const { answer, end } = await orderToTheEnd({ port, host: "127.0.0.1" }, { more: signed });
    expect(answer.isComplete && answer.status === 200).toBe(false);
    expect(end).toBe(answer.status === 200 ? "rst" : "fin");
    expect(await recorder.nth("request_finished", 1)).toMatchObject({
      outcome: "unknown",
      code: "upstream_reset",
      cause: "UNFRAMED_OVER_TLS",
    });
  });

  it.each(endings.flatMap((how) => [["length", how] as const, ["chunks", how] as const]))(
    "an answer that ends by %s is whole: %s",
    async (framing, how) => {
      const { recorder, port } = await stageTls(version, framings[framing], closes[how]);
      const { answer, end } = await orderToTheEnd({ port, host: "127.0.0.1" }, { more: signed });
      expect({ ...answer, end }).toMatchObject({ status: 200, body, isComplete: true, end: "fin" });
      expect(await recorder.nth("request_finished", 1)).toMatchObject({ outcome: "answered", code: undefined });
    },
  );
});
