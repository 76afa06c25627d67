/**
 * Row 43: whatever breaks after a byte was written, the service sees one request, and the outcome is unknown.
 * Row 12a: an accepted request gets a status line before its connection closes, so no library repeats it.
 */
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { order } from "../../../testkit/call.ts";
import { orderRaw, type RawAnswer } from "../../../testkit/raw-order.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { drawSeed, seededRandom } from "../../../testkit/seeded-random.ts";
import { hmacSite, stageProxy } from "../../../testkit/stage.ts";

const points = 300;
const body = JSON.stringify({ order_id: "order_1", padding: "x".repeat(300) });
const wholeAnswer = rawAnswer(200, body, "X-Id: 1\r\n");
const headLength = wholeAnswer.indexOf("\r\n\r\n") + 4;
/** The same with its end told in other ways. */
const wholeAnswers = [
  wholeAnswer,
  rawAnswer(200, body, "Connection: close\r\n"),
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
] as const;

/** Where a connection breaks: after so many bytes of the request have come, or so many of the answer have gone. */
interface Break {
  readonly phase: "request" | "answer";
  readonly afterBytes: number;
  readonly how: "reset" | "close";
  readonly answer: string;
}

function drawBreak(random: () => number): Break {
  const phase = random() < 0.4 ? "request" : "answer";
  const answer = wholeAnswers[Math.floor(random() * wholeAnswers.length)] ?? wholeAnswer;
  const longest = phase === "request" ? 180_000 : answer.length - 1;
  return {
    phase,
    afterBytes: (phase === "request" ? 1 : 0) + Math.floor(random() * longest),
    how: random() < 0.5 ? "reset" : "close",
    answer,
  };
}

function breakOff(socket: Socket, how: Break["how"]): void {
  if (how === "reset") socket.resetAndDestroy();
  else socket.destroy();
}

/** A service whose next connection breaks at a point of the test's choice. */
async function stageBreaking() {
  let next: Break = { phase: "request", afterBytes: 1, how: "close", answer: wholeAnswer };
  const upstream = await startRawUpstream({
    receive(bytes, socket) {
      if (next.phase === "request" && bytes >= next.afterBytes) breakOff(socket, next.how);
    },
    answer(_request, socket) {
      const { phase, afterBytes, how, answer } = next;
      if (phase === "answer") socket.write(answer.slice(0, afterBytes), () => breakOff(socket, how));
    },
  });
  const stage = await stageProxy({ baseUrl: upstream.url });
  const breakAt = async (point: Omit<Break, "answer"> & Partial<Break>) => {
    next = { answer: wholeAnswer, ...point };
    const parameters = { ...order, padding: point.phase === "request" ? "x".repeat(200_000) : "x" };
    return orderRaw(stage.port, { "Countersign-Site": hmacSite }, parameters);
  };
  return { ...stage, upstream, breakAt };
}

/** Nobody can take it for the service's whole answer. */
function isHonest({ status, isComplete, value }: RawAnswer): boolean {
  if (status === 200) return !isComplete;
  return status === 502 && isComplete && value("countersign-outcome") === "unknown";
}

describe("a connection that breaks after bytes were written", () => {
  it(`reaches the service once at each of ${points} random points, and never looks answered`, async () => {
    const random = seededRandom(drawSeed("where connections break"));
    const { upstream, breakAt, recorder } = await stageBreaking();
    const wrong: unknown[] = [];
    for (let n = 1; n <= points; n++) {
      const point = drawBreak(random);
      const answer = await breakAt(point);
      if (upstream.spoken !== n || !isHonest(answer)) {
        wrong.push({ n, point, spoken: upstream.spoken, status: answer.status, body: answer.body });
      }
    }
    expect(wrong).toEqual([]);
    expect(upstream.connections).toBe(points);
    const finished = recorder.of("request_finished");
    expect(finished).toHaveLength(points);
    expect(finished.filter(({ outcome, attempts }) => outcome !== "unknown" || attempts !== 1)).toEqual([]);
  }, 60_000);

  it("is 502 upstream_reset with what to do, while nothing of the answer has come", async () => {
    const { breakAt, recorder } = await stageBreaking();
    const answer = await breakAt({ phase: "request", afterBytes: 1, how: "reset" });
    expect(answer.status).toBe(502);
    expect(answer.value("countersign-error")).toBe("upstream_reset");
    expect(JSON.parse(answer.body)).toMatchObject({ code: "upstream_reset", outcome: "unknown" });
    expect(JSON.parse(answer.body).detail).toMatch(/The order may exist: look for request [0-9a-f-]{36} before/);
    expect(recorder.of("request_finished")[0]).toMatchObject({ stage: "send", code: "upstream_reset", status: 502 });
  });

  it.each(["reset", "close"] as const)(
    "is an answered failure, not a bare close, after the head alone: %s",
    async (how) => {
      const { breakAt } = await stageBreaking();
      const answer = await breakAt({ phase: "answer", afterBytes: headLength, how });
      expect(answer.status).toBe(502);
      expect(answer.value("countersign-error")).toBe("upstream_reset");
      expect(answer.value("countersign-outcome")).toBe("unknown");
    },
  );

  it("is a cut connection when part of the answer had been passed on", async () => {
    const { breakAt, recorder } = await stageBreaking();
    const answer = await breakAt({ phase: "answer", afterBytes: headLength + 100, how: "close" });
    expect(answer).toMatchObject({ status: 200, isComplete: false });
    expect(answer.body).toBe(wholeAnswer.slice(headLength, headLength + 100));
    const end = recorder.of("request_finished")[0];
    expect(end).toMatchObject({ by: "service", status: 200, outcome: "unknown", code: "upstream_reset" });
  });
});
