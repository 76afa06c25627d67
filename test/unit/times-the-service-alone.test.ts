/** Product section 5: the service's duration is the service's. A caller that reads slowly must not look like a slow service. */
import { expect, it } from "vitest";
import { RequestContext } from "../../src/proxy/context.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

const piece = new Uint8Array(1);

function stage() {
  const clock = new FakeClock();
  const trip = new RequestContext("id", clock, 60_000);
  /** An answer of three pieces, each of which takes the service 100 ms. */
  async function* answer() {
    for (let n = 0; n < 3; n++) {
      await clock.advance(100);
      yield piece;
    }
  }
  return { clock, trip, answer };
}

it("counts the wait for each piece, and not what the caller takes to read it", async () => {
  const { clock, trip, answer } = stage();
  await trip.wait("send", () => clock.advance(1_000));
  await trip.wait("stream_answer", async () => {
    for await (const _ of trip.timed(answer())) await clock.advance(5_000);
  });
  await clock.advance(7);
  expect(trip.upstreamMs).toBe(1_300);
  expect(trip.durationMs()).toBe(16_307);
  expect(trip.overheadMs()).toBe(7);
});

it("counts the wait for a piece that never came", async () => {
  const { clock, trip } = stage();
  async function* broken() {
    yield piece;
    await clock.advance(200);
    throw new Error("reset");
  }
  const read = async () => {
    for await (const _ of trip.timed(broken())) await clock.advance(5_000);
  };
  await expect(read()).rejects.toThrow("reset");
  expect(trip.upstreamMs).toBe(200);
});

it("lets go of the answer when nobody wants the rest", async () => {
  const { trip } = stage();
  let isLetGo = false;
  async function* endless() {
    try {
      for (;;) yield piece;
    } finally {
      isLetGo = true;
    }
  }
  for await (const _ of trip.timed(endless())) break;
  expect(isLetGo).toBe(true);
});
