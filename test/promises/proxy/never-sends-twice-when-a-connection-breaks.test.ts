/** Rows 43, 12a: what a caller is told of a broken connection (anywhere: `breaks-at-ten-thousand-points`). */
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { order } from "../../../testkit/call.ts";
import { orderRaw } from "../../../testkit/raw-caller.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, stageProxy } from "../../../testkit/stage.ts";

const body = JSON.stringify({ order_id: "order_1", padding: "x".repeat(300) });
const wholeAnswer = rawAnswer(200, body, "X-Id: 1\r\n");
const headLength = wholeAnswer.indexOf("\r\n\r\n") + 4;

/** Where a connection breaks: after so many bytes of the request have come, or so many of the answer have gone. */
interface Break {
  readonly phase: "request" | "answer";
  readonly afterBytes: number;
  readonly how: "reset" | "close";
}

function breakOff(socket: Socket, how: Break["how"]): void {
  if (how === "reset") socket.resetAndDestroy();
  else socket.destroy();
}

/** A service whose next connection breaks at a point of the test's choice. */
async function stageBreaking() {
  let next: Break = { phase: "request", afterBytes: 1, how: "close" };
  const upstream = await startRawUpstream({
    receive(bytes, socket) {
      if (next.phase === "request" && bytes >= next.afterBytes) breakOff(socket, next.how);
    },
    answer(_request, socket) {
      const { phase, afterBytes, how } = next;
      if (phase === "answer") socket.write(wholeAnswer.slice(0, afterBytes), () => breakOff(socket, how));
    },
  });
  const stage = await stageProxy({ baseUrl: upstream.url });
  const breakAt = async (point: Break) => {
    next = point;
    const parameters = { ...order, padding: point.phase === "request" ? "x".repeat(200_000) : "x" };
    const answer = await orderRaw(stage.port, { "Countersign-Site": hmacSite }, parameters);
    expect(upstream).toMatchObject({ connections: 1, spoken: 1 });
    return answer;
  };
  return { ...stage, upstream, breakAt };
}

describe("a connection that breaks after bytes were written", () => {
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
