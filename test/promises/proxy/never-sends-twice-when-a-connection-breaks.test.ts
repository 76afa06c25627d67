/** Rows 43, 12a: what a caller is told of a broken connection (anywhere: `breaks-at-ten-thousand-points`). */
import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { order } from "../../../testkit/call.ts";
import { orderRaw } from "../../../testkit/raw-caller.ts";
import { type RawBehaviour, rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, stageProxy } from "../../../testkit/stage.ts";

const body = "x".repeat(300);
const wholeAnswer = rawAnswer(200, body);
const headLength = wholeAnswer.length - body.length;
/** More than comes in one read. */
const large = { ...order, padding: "x".repeat(200_000) };

const resets = (socket: Socket) => void socket.resetAndDestroy();
const closes = (socket: Socket) => void socket.destroy();

/** One order to a service that breaks its connection. It is sent once. */
async function orderOnce(service: RawBehaviour) {
  const upstream = await startRawUpstream(service);
  const { port, recorder } = await stageProxy({ baseUrl: upstream.url });
  const answer = await orderRaw(port, { "Countersign-Site": hmacSite }, large);
  expect(upstream).toMatchObject({ connections: 1, spoken: 1 });
  return { answer, end: recorder.of("request_finished")[0] };
}

/** The service breaks it when it has written so much of its answer. */
const after = (bytes: number, breakOff: (socket: Socket) => void): RawBehaviour => ({
  answer: (_request, socket) => void socket.write(wholeAnswer.slice(0, bytes), () => breakOff(socket)),
});

it.each<[string, string, RawBehaviour]>([
  ["reset while the request is on its way", "send", { receive: (_bytes, socket) => resets(socket) }],
  ["reset behind the answer's head", "stream_answer", after(headLength, resets)],
  ["closed behind the answer's head", "stream_answer", after(headLength, closes)],
])("is 502 upstream_reset with what to do, not a bare close: %s", async (_, stage, service) => {
  const { answer, end } = await orderOnce(service);
  expect(answer.status).toBe(502);
  expect(answer.value("countersign-error")).toBe("upstream_reset");
  expect(answer.value("countersign-outcome")).toBe("unknown");
  expect(JSON.parse(answer.body)).toMatchObject({ code: "upstream_reset", outcome: "unknown" });
  expect(JSON.parse(answer.body).detail).toMatch(/The order may exist: look for request [0-9a-f-]{36} before/);
  expect(end).toMatchObject({ stage, code: "upstream_reset", status: 502 });
});

it("is a cut connection when part of the answer had been passed on", async () => {
  const { answer, end } = await orderOnce(after(headLength + 100, closes));
  expect(answer).toMatchObject({ status: 200, isComplete: false, body: body.slice(0, 100) });
  expect(end).toMatchObject({ by: "service", status: 200, outcome: "unknown", code: "upstream_reset" });
});
