/** With random callers and services, nobody gets another's answer, and each answer has one access line. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { chunked, nextAnswer, type RawPost, rawPost } from "../../../testkit/raw-caller.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { drawSeed } from "../../../testkit/seeded-random.ts";
import { letItRead } from "../../../testkit/server-side.ts";
import { hmacSite, stage } from "../../../testkit/stage.ts";

const runs = 100;
const requestMs = 250;
const bodyBytes = 4_096;

/** The service's answers, by a letter in the order's marker. */
const services: Readonly<Record<string, (marker: string) => string>> = {
  a: (marker: string) => rawAnswer(200, marker),
  b: (marker: string) => `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunked(marker)}`,
  c: (marker: string) => rawAnswer(400, marker),
  d: (marker: string) => rawAnswer(200, `${marker}${"x".repeat(200_000)}`),
  e: (marker: string) => `${rawAnswer(200, marker)}${rawAnswer(200, "m999999e")}`,
  f: (marker: string) => rawAnswer(200, `${marker}and more`).slice(0, -4),
  g: () => "HTTP/1.1 junk\r\n\r\n",
};
/** Other behaviours: the answer never comes, comes late, or ends with its connection. */
const endings: Readonly<Record<string, (socket: Socket, marker: string) => void>> = {
  h: () => {},
  i: (socket) => void socket.end(),
  j: (socket) => void socket.resetAndDestroy(),
  k: (socket, marker) => void socket.end(`HTTP/1.1 200 OK\r\n\r\n${marker}`),
  l: (socket, marker) => void socket.end(rawAnswer(200, `${marker}and more`).slice(0, -4)),
  m: (socket, marker) => void setTimeout(() => socket.write(rawAnswer(200, marker)), 30),
  n: (socket, marker) => void setTimeout(() => socket.write(rawAnswer(200, marker)), requestMs + 50),
};
/** Orders whose answer is never whole in time. An answer to `n` can be, if the machine stalls until it has come. */
const unanswered = "fghijl";
const marked = /m\d{6}[a-n]/g;
const letters = [...Object.keys(services), ...Object.keys(endings)];

/** How a caller sends an order: in what it differs from a plain one on a connection that is kept. */
const forms: Readonly<Record<string, (marker: string) => RawPost>> = {
  length: () => ({}),
  chunks: (marker) => ({ framing: ["Transfer-Encoding: chunked"], body: chunked(bodyOf(marker)) }),
  "last one": () => ({ connection: ["Connection: close"] }),
  expectation: () => ({ more: ["Expect: 100-continue"] }),
  "too long": (marker) => ({ body: bodyOf(marker).padEnd(bodyBytes + 1) }),
  "no JSON": (marker) => ({ body: marker }),
  "no body": () => ({ method: "GET", framing: [], body: "" }),
  "bad chunks": (marker) => ({ framing: ["Transfer-Encoding: chunked"], body: `z\r\n${marker}` }),
};
const formNames = [...Object.keys(forms), "junk"];

/** A number from 0 to 1; `fc.double` would be near 0 nearly always. */
const part = fc.nat(100).map((percent) => percent / 100);
const order = fc.record({
  form: fc.oneof({ weight: 3, arbitrary: fc.constant("length") }, fc.constantFrom(...formNames)),
  service: fc.oneof({ weight: 1, arbitrary: fc.constant("a") }, { weight: 2, arbitrary: fc.constantFrom(...letters) }),
  /** Pauses before or within the request, at a part of its length. */
  pauses: fc.array(fc.record({ at: fc.oneof(fc.constant(0), part), pauseMs: fc.nat(8) }), { maxLength: 2 }),
});

const caller = fc.record({
  orders: fc.array(order, { minLength: 1, maxLength: 6 }),
  end: fc.constantFrom("reads all", "reads all", "closes its half", "leaves", "resets"),
  reads: fc.constantFrom("at once", "late"),
});

let numbered = 0;
let callers = 0;

it("gives nobody another's answer, says not_sent of no order that was sent, and logs each answer once", async () => {
  const seen: string[] = [];
  const upstream = await startRawUpstream({
    answer: ({ head, body }, socket) => {
      const [marker] = body.match(marked) ?? expect.fail(head);
      seen.push(marker);
      const letter = marker.at(-1) ?? "";
      const answer = services[letter];
      if (answer === undefined) endings[letter]?.(socket, marker);
      else socket.write(answer(marker), "latin1");
    },
  });
  const timeouts = { requestMs, connectMs: requestMs, tokenMs: requestMs };
  const { port, url, adminUrl, recorder } = await stage({
    baseUrl: upstream.url,
    limits: { bodyBytes },
    timeouts,
  });

  /** Plays a caller, and returns everything that came back. */
  const play = async ({ orders, end, reads }: Caller) => {
    const markers = orders.map(({ service }) => `m${String(numbered++).padStart(6, "0")}${service}`);
    callers += 1;
    const requests = orders.map(({ form }, n) => requestOf(form, markers[n] ?? ""));
    const bytes = requests.join("");
    const socket = connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    socket.setMaxListeners(0);
    const closed = new Promise((resolve) => socket.on("error", () => {}).once("close", resolve));
    let text = "";
    const read = () => socket.setEncoding("latin1").on("data", (piece: string) => (text += piece));
    // Node reports a reset that comes together with bytes as an orderly end; but then the socket has no remote address any more.
    let isOrderly = false;
    socket.once("end", () => (isOrderly = socket.remoteAddress !== undefined));
    await once(socket, "connect");
    if (reads === "at once") read();
    const points = orders.flatMap(({ pauses }, n) => {
      const start = requests.slice(0, n).join("").length;
      return pauses.map(({ at, pauseMs }) => ({ at: start + Math.floor(at * (requests[n] ?? "").length), pauseMs }));
    });
    points.sort((one, other) => one.at - other.at);
    let from = 0;
    for (const { at, pauseMs } of points) {
      if (socket.writable) socket.write(bytes.slice(from, at), "latin1");
      from = at;
      await wait(pauseMs);
    }
    if (socket.writable) socket.write(bytes.slice(from), "latin1");
    if (end === "closes its half") socket.end();
    if (end === "leaves") socket.destroy();
    if (end === "resets") socket.resetAndDestroy();
    if (reads === "late") {
      await wait(20);
      read();
    }
    // A connection that does not end by itself is over when all its answers have come.
    const isOver = () => socket.closed || socket.readableEnded || answersIn(text).length >= orders.length;
    const untilMs = performance.now() + (orders.length + 2) * requestMs * 10;
    while (!isOver() && performance.now() < untilMs) {
      await Promise.race([closed, once(socket, "end").catch(() => {}), wait(10)]);
    }
    // Neither its connection nor its last answer ended in time.
    const isStuck = !isOver();
    const isWhole = end === "reads all" && isOrderly;
    socket.destroy();
    await closed;
    return { orders, markers, end, answers: answersIn(text), isWhole, isStuck, text };
  };

  const judge = async (played: readonly Awaited<ReturnType<typeof play>>[]): Promise<void> => {
    // An access line is written before or with the answer, but may be late for a caller who has left.
    for (let round = 0; round < 3; round++) {
      await letItRead({ url });
      await whenInFlight({ adminUrl }, 0);
    }
    const lines = recorder.of("request_finished");
    for (const { orders, markers, end, answers, isWhole, isStuck, text } of played) {
      const where = JSON.stringify({ orders, end, text: [text.slice(0, 400), text.slice(-1_600)] });
      expect(isStuck, where).toBe(false);
      expect(answers.length, where).toBeLessThanOrEqual(markers.length);
      expect(
        answers.slice(0, -1).filter(({ closes }) => closes),
        where,
      ).toEqual([]);
      expect(
        (text.match(marked) ?? []).filter((found) => !markers.includes(found)),
        where,
      ).toEqual([]);
      for (const [n, answer] of answers.entries()) {
        const marker = markers[n] ?? "";
        if (answer.outcome === "answered") expect(answer.body, where).toContain(marker);
        if (answer.outcome === "not_sent") expect(seen, where).not.toContain(marker);
        const own = lines.filter(({ requestId }) => requestId === answer.requestId);
        expect(own, where).toHaveLength(1);
        expect(own[0], where).toMatchObject({
          status: answer.status,
          reference: orders[n]?.form === "junk" ? undefined : marker,
        });
      }
      for (const marker of markers) {
        expect(seen.filter((each) => each === marker).length, where).toBeLessThanOrEqual(1);
        const own = lines.filter(({ reference }) => reference === marker);
        expect(own.length, where).toBeLessThanOrEqual(1);
        if (!seen.includes(marker)) continue;
        expect(own, where).toHaveLength(1);
        expect(own[0]?.outcome, where).not.toBe("not_sent");
        if (unanswered.includes(marker.slice(-1))) expect(own[0]?.outcome, where).toBe("unknown");
      }
      // A caller that reads to the end has an answer to each request, up to one that closes the connection or is cut.
      if (isWhole && answers.length < markers.length && answers.length > 0) {
        expect(answers.at(-1)?.closes, where).toBe(true);
      }
    }
    recorder.events.length = 0;
    seen.length = 0;
  };

  await fc.assert(
    fc.asyncProperty(fc.array(caller, { minLength: 1, maxLength: 5 }), async (programs) => {
      await judge(await Promise.all(programs.map(play)));
    }),
    { seed: drawSeed("any callers meet any service"), numRuns: runs, endOnFailure: true },
  );
  expect(callers).toBeGreaterThan(runs);
}, 240_000);

type Caller = typeof caller extends fc.Arbitrary<infer Each> ? Each : never;

/** All final answers, in their order, up to the first that is not whole. Without a length the close ends a body. */
function answersIn(text: string) {
  const answers: {
    status: number;
    requestId: string | undefined;
    outcome: string | undefined;
    closes: boolean;
    body: string;
  }[] = [];
  for (let rest = text; ; ) {
    const { answer, rest: behind } = nextAnswer(rest);
    const { status, body, value, isComplete } = answer;
    const isFramed = value("content-length") !== undefined || value("transfer-encoding") !== undefined;
    if (status === 0 || !rest.includes("\r\n\r\n") || (isFramed && !isComplete)) return answers;
    if (status >= 200) {
      const [requestId, outcome] = [value("countersign-request-id"), value("countersign-outcome")];
      answers.push({ status, requestId, outcome, closes: value("connection") === "close", body });
    }
    rest = behind;
  }
}

function bodyOf(marker: string): string {
  return JSON.stringify({ site_customer_identifier: marker });
}

function requestOf(form: string, marker: string): string {
  const given = forms[form]?.(marker);
  if (given === undefined) return "BLAH blah\r\n\r\n";
  const own = [`Countersign-Site: ${hmacSite}`, `Countersign-Reference: ${marker}`];
  return rawPost({ connection: [], body: bodyOf(marker), ...given, more: [...own, ...(given.more ?? [])] });
}
