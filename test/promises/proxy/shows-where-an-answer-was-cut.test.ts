/**
 * An answer that was cut is 502 or 504, and `unknown`; one that is too long to be read ahead looks cut, above all
 * if the close would be its end.
 */
import type { NetConnectOpts, Socket } from "node:net";
import { join } from "node:path";
import type { ConnectionOptions } from "node:tls";
import { describe, expect, it } from "vitest";
import { serverTls, trusting } from "../../../testkit/certificates.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { orderToTheEnd, RawConnection, rawPost, readAnswer } from "../../../testkit/raw-caller.ts";
import { type RawBehaviour, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, type Stage, stage } from "../../../testkit/stage.ts";
import { known, payments, stageWithCallers } from "./callers.ts";

const body = '{"order_id":"order_1","status":"created"}';
/** More than is read ahead. */
const longBody = body.repeat(2_500);
const framing = {
  close: (body: string) => `HTTP/1.1 200 OK\r\nX-A: b\r\n\r\n${body}`,
  length: (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  chunks: (body: string) =>
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
} as const;

const framings = { close: framing.close(body), length: framing.length(body), chunks: framing.chunks(body) };
/** An answer without the end of its body. */
const cutOff = (how: Framing, body: string) => framing[how](body).replace(/.{21}(?:\r\n0\r\n\r\n)?$/, "");

/** With the code and the cause of an answer that was cut so. */
const breaks = {
  /** The last bytes and the reset arrive together. */
  "a reset with the last bytes": [(socket) => socket.resetAndDestroy(), "upstream_reset", "ECONNRESET"],
  "a reset after them": [(socket) => setTimeout(() => socket.resetAndDestroy(), 20), "upstream_reset", "ECONNRESET"],
  "an orderly end": [(socket) => socket.end(), "upstream_reset", "CONNECTION_CLOSED"],
  "silence until the deadline": [() => {}, "upstream_timeout", "incomplete answer"],
} satisfies Record<string, [breakOff: (socket: Socket) => unknown, code: string, cause: string]>;

const signed = [`Countersign-Site: ${hmacSite}`];
const hurried = [...signed, "Countersign-Timeout-Ms: 1000"];

const listeners: Readonly<Record<string, (baseUrl: string) => Promise<Staged>>> = {
  async TCP(baseUrl) {
    const { recorder, port } = await stage({ baseUrl });
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
    const { recorder } = await stage({ baseUrl, config: { listeners } });
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

  it.each(cuts)("gets a whole failure if an answer ended by %s was cut by %s", async (framing, how) => {
    const { url, upstream } = await serviceThat(cutOff(framing, body), how);
    const { recorder, to } = await open(url);
    const more = how === "silence until the deadline" ? hurried : signed;
    const { answer, end } = await orderToTheEnd(to, { connection: [], more: [...more, "Connection: close"] });
    const [, code, cause] = breaks[how];
    const status = code === "upstream_timeout" ? 504 : 502;
    expect({ ...answer, end }).toMatchObject({ status, isComplete: true, end: "fin" });
    expect(JSON.parse(answer.body)).toMatchObject({ code, outcome: "unknown", status });
    const finished = await recorder.nth("request_finished", 1);
    expect(finished).toMatchObject({ outcome: "unknown", code, cause, status, by: "countersign", callerLeft: false });
    expect(upstream.requests).toHaveLength(1);
  });

  it.each(cuts)("sees where a long answer ended by %s was cut by %s", async (framing, how) => {
    const { url, goOn } = await serviceThat(cutOff(framing, longBody), how);
    const { recorder, to } = await open(url);
    const more = how === "silence until the deadline" ? hurried : signed;
    const { answer, end } = await orderToTheEnd(to, { connection: [], more }, { onAnswer: goOn });
    expect(answer).toMatchObject({ status: 200, isComplete: false });
    expect(end).toBe(canBeReset ? "rst" : "fin");
    // A connection that cannot be reset shows the cut by a missing last chunk.
    if (!canBeReset && framing === "close") expect(answer.value("transfer-encoding")).toBe("chunked");
    const [, code, cause] = breaks[how];
    const finished = await recorder.nth("request_finished", 1);
    expect(finished).toMatchObject({ outcome: "unknown", code, cause, status: 200, by: "service", callerLeft: false });
  });

  it("that closes its half sees where its answer was then cut", async () => {
    const { url } = await serviceThat(cutOff("close", longBody), "silence until the deadline");
    const { recorder, to } = await open(url);
    const { answer, end } = await orderToTheEnd(to, { connection: [], more: hurried }, { closesHalf: true });
    expect(answer).toMatchObject({ status: 200, isComplete: false });
    expect(end).toBe(canBeReset ? "rst" : "fin");
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ outcome: "unknown", callerLeft: true });
  });

  it("sees the orderly end of an answer that the close ends", async () => {
    const { url } = await serviceThat(framings.close, "an orderly end");
    const { recorder, to } = await open(url);
    const { answer, end } = await orderToTheEnd(to, { connection: [], more: signed });
    expect(answer).toMatchObject({ status: 200, body, isComplete: !canBeReset });
    expect(end).toBe("fin");
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ outcome: "answered", code: undefined });
  });
});

describe("without memory to read it ahead, an answer is passed on as it comes", () => {
  it("and shows where it was cut", async () => {
    let breakOff = () => {};
    const service: RawBehaviour = {
      answer(_request, socket) {
        breakOff = () => void socket.resetAndDestroy();
        socket.write(cutOff("length", "x".repeat(40_000)));
      },
    };
    // A request takes 32 KiB besides its bodies.
    const { port, recorder } = await stage("service", service, { limits: { bufferedBytes: 50_000 } });
    const connection = await RawConnection.open(port);
    connection.write(rawPost({ more: signed }));
    await connection.until(/x{1000}$/);
    breakOff();
    expect(readAnswer(await connection.closed)).toMatchObject({ status: 200, isComplete: false });
    const finished = { outcome: "unknown", code: "upstream_reset", status: 200, by: "service" };
    expect(await recorder.nth("request_finished", 1)).toMatchObject(finished);
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
  return stage({ baseUrl: url, environment: { tls: trusting } });
}

it.each(versions)("shows where a service over %s was reset", async (version) => {
  const { recorder, port } = await stageTls(version, cutOff("close", longBody), (_, below) => {
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
    expect({ ...answer, end }).toMatchObject({ status: 502, isComplete: true, end: "fin" });
    expect(await recorder.nth("request_finished", 1)).toMatchObject({
      outcome: "unknown",
      code: "upstream_reset",
      cause: "UNFRAMED_OVER_TLS",
    });
  });

  it.each(endings)("a long answer that only the close ends is never whole: %s", async (how) => {
    const { recorder, port } = await stageTls(version, framing.close(longBody), closes[how]);
    const { answer, end } = await orderToTheEnd({ port, host: "127.0.0.1" }, { more: signed });
    expect(answer.isComplete && answer.status === 200).toBe(false);
    expect(end).toBe(answer.status === 200 ? "rst" : "fin");
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ outcome: "unknown", cause: "UNFRAMED_OVER_TLS" });
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

type Framing = keyof typeof framing;

type Break = keyof typeof breaks;

/** A service that answers with the given bytes, and then ends the connection as given; the end of a long answer waits. */
async function serviceThat(bytes: string, how: Break) {
  const [breakOff] = breaks[how];
  let goOn = () => {};
  const upstream = await startRawUpstream({
    answer: (_request, socket) => {
      const last = bytes.slice(-10);
      goOn = () => void socket.write(last, "latin1", () => breakOff(socket));
      socket.setNoDelay(true).write(bytes.slice(0, -10), "latin1");
      if (bytes.length <= 65_536) goOn();
    },
  });
  return { url: upstream.url, upstream, goOn: () => goOn() };
}

type Target = NetConnectOpts | ConnectionOptions;

type Staged = Pick<Stage, "recorder"> & { readonly to: Target };
