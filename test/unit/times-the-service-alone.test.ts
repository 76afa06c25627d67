/** Product section 5: the service's duration excludes the caller's. A caller that reads slowly must not look like a slow service. */
import { expect, it } from "vitest";
import type { UpstreamResponse } from "../../src/serving/messages.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";
import { openContext } from "./open-context.ts";

const piece = new Uint8Array(1);

it("the service's duration includes the wait for each piece, but not the caller's time to read it", async () => {
  const { clock, context, response } = stage();
  context.beginWait("send");
  await clock.advance(1_000);
  context.beginWait("stream_answer");
  for await (const _ of pieces(context.received(response()))) await clock.advance(5_000);
  context.endWait();
  await clock.advance(7);
  expect(context.event.upstreamMs).toBe(1_300);
  expect(context.finish()).toMatchObject({ durationMs: 16_307, overheadMs: 7 });
});

it("the service's duration includes the wait for a piece that never came", async () => {
  const { clock, context } = stage();
  async function* broken() {
    yield piece;
    await clock.advance(200);
    throw new Error("reset");
  }
  const read = async () => {
    for await (const _ of pieces(context.received(broken()))) await clock.advance(5_000);
  };
  await expect(read()).rejects.toThrow("reset");
  expect(context.event.upstreamMs).toBe(200);
});

it("the response ends when the caller stops reading", async () => {
  const { context } = stage();
  let isLetGo = false;
  async function* endless() {
    try {
      for (;;) yield piece;
    } finally {
      isLetGo = true;
    }
  }
  for await (const _ of pieces(context.received(endless()))) break;
  expect(isLetGo).toBe(true);
});

it("the bytes of a response that was read ahead are counted", () => {
  const { context } = stage();
  const body = new Uint8Array(5);
  expect(context.received(body)).toBe(body);
  expect(context.event).toMatchObject({ responseBytes: 5, upstreamMs: undefined });
});

function pieces(body: UpstreamResponse["body"]): AsyncIterable<Uint8Array> {
  if (body instanceof Uint8Array) throw new Error("it is whole");
  return body;
}

function stage() {
  const clock = new FakeClock();
  const context = openContext(clock, 60_000);
  /** An answer of three pieces, each of which takes the service 100 ms. */
  async function* response() {
    for (let n = 0; n < 3; n++) {
      await clock.advance(100);
      yield piece;
    }
  }
  return { clock, context, response };
}
