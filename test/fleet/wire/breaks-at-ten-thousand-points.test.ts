/** Wherever a connection breaks, the service sees one request, and no cut answer looks whole. */
import { expect, it } from "vitest";
import { startFaultProxy } from "../../../testkit/fault-proxy.ts";
import type { WayFaults } from "../../../testkit/fault-proxy-way.ts";
import { inParallel } from "../../../testkit/in-parallel.ts";
import { orderRaw, type RawAnswer } from "../../../testkit/raw-caller.ts";
import { type RawUpstream, rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { drawSeed, seededRandom } from "../../../testkit/seeded-random.ts";
import { hmacSite, stage } from "../../../testkit/stage.ts";

/** Numbers of orders, and the sizes of their bodies; a large body takes several writes. */
const runs = [
  { points: 9_500, paddingBytes: 150 },
  { points: 500, paddingBytes: 100_000 },
] as const;
const atOnce = 16;
const signed = { "Countersign-Site": hmacSite };

const body = JSON.stringify({ order_id: "order_1", padding: "x".repeat(200) });
const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
/** Answers that mark their end: an answer that only the close ends looks like a truncated one (RFC 9112 section 8). */
const answers = [
  rawAnswer(200, body),
  rawAnswer(200, body, "Connection: close\r\n"),
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunks}`,
] as const;
const shortestAnswer = Math.min(...answers.map(({ length }) => length));

/** The ids of the requests that the service has seen, whole or only a head. */
const idsAt = ({ requests }: RawUpstream) => requests.map(({ head }) => /x-request-id: (\S+)/i.exec(head)?.[1]);

it.each(runs)("sends each order once: $points random breaks in $paddingBytes bytes", async (run) => {
  const { points, paddingBytes } = run;
  const random = seededRandom(drawSeed("where the network breaks"));
  const { port, network, upstream, recorder } = await stageBreaking(
    () => drawBreak(random, paddingBytes),
    (number) => answers[number % answers.length] ?? "",
  );
  const padding = "x".repeat(paddingBytes);
  const wrong: unknown[] = [];
  await inParallel(atOnce, Array.from({ length: points }), async (_, n) => {
    const headers = { "X-Request-Id": `call_${n}`, ...(n % 2 === 0 ? signed : {}) };
    const answer = await orderRaw(port, headers, { padding });
    if (!isHonest(answer)) wrong.push({ n, status: answer.status, lines: answer.lines, body: answer.body });
  });
  expect(wrong).toEqual([]);
  // One connection for each order, so no order was sent a second time; and no order came through whole twice.
  expect({ connections: network.connections, beyondTheNetwork: upstream.connections }).toEqual({
    connections: points,
    beyondTheNetwork: points,
  });
  const ids = idsAt(upstream);
  expect(new Set(ids).size).toBe(ids.length);
  const finished = recorder.of("request_finished");
  expect(finished).toHaveLength(points);
  expect(finished.filter(({ outcome, attempts }) => outcome !== "unknown" || attempts !== 1)).toEqual([]);
});

it.each([
  ["a length", rawAnswer(200, '{"order_id":"order_1"}')],
  ["chunks", 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n16\r\n{"order_id":"order_1"}\r\n0\r\n\r\n'],
])("an answer with %s that ends after any of its bytes but the last is 502 unknown, or cut", async (_name, text) => {
  const { port, upstream } = await stageBreaking(
    (connection) => ({ toCaller: { breakAfter: { bytes: connection, how: "truncate" } } }),
    () => text,
  );
  const dishonest: unknown[] = [];
  for (let bytes = 1; bytes < text.length; bytes++) {
    const answer = await orderRaw(port, signed);
    if (!isHonest(answer)) dishonest.push({ bytes, status: answer.status, body: answer.body });
  }
  expect(dishonest).toEqual([]);
  expect(upstream.requests).toHaveLength(text.length - 1);
  // And with its last byte it is whole.
  expect(await orderRaw(port, signed)).toMatchObject({ status: 200, isComplete: true });
});

type Faults = { readonly toTarget?: Partial<WayFaults>; readonly toCaller?: Partial<WayFaults> };

/** A break, never after the last byte, so that always a part arrives. A request has a head beside its padding. */
function drawBreak(random: () => number, paddingBytes: number): Faults {
  const how = random() < 0.5 ? "reset" : "truncate";
  const isRequest = random() < 0.4;
  const breakAfter = {
    bytes: 1 + Math.floor(random() * (isRequest ? paddingBytes : shortestAnswer - 1)),
    how,
  } as const;
  return isRequest ? { toTarget: { breakAfter } } : { toCaller: { breakAfter } };
}

async function stageBreaking(faultsOf: (connection: number) => Faults, answerOf: (n: number) => string) {
  const upstream = await startRawUpstream({ answer: ({ number }, socket) => socket.write(answerOf(number)) });
  const network = await startFaultProxy(upstream.url, faultsOf);
  return { ...(await stage({ oneSet: true, baseUrl: network.url })), network, upstream };
}

/** Whether nobody can take the answer for a whole answer of the service. */
function isHonest({ status, isComplete, value }: RawAnswer): boolean {
  if (status === 200) return !isComplete;
  return status === 502 && isComplete && value("countersign-outcome") === "unknown";
}
