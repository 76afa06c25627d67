/** Rows 12a and 45: a 401 whose body stalls or breaks is retried; without a retry the caller gets a whole answer. */
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { orderRaw } from "../../../testkit/raw-caller.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { drawSeed, pickBy, seededRandom } from "../../../testkit/seeded-random.ts";
import { stageProxy } from "../../../testkit/stage.ts";

const body = '{"error":"unauthorized"}';
const framings = {
  length: `HTTP/1.1 401 Unauthorized\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  chunks: `HTTP/1.1 401 Unauthorized\r\nTransfer-Encoding: chunked\r\n\r\n18\r\n${body}\r\n0\r\n\r\n`,
  close: `HTTP/1.1 401 Unauthorized\r\nX-A: b\r\n\r\n${body}`,
} as const;
const headBytes = (bytes: string) => bytes.indexOf("\r\n\r\n") + 4;

const stalls = () => {};
const resets = (socket: Socket) => socket.resetAndDestroy();
const ends = (socket: Socket) => socket.end();

/** Half of the body, or none of it, and then the worst. */
const broken: readonly (readonly [string, string, (socket: Socket) => void])[] = [
  ["that stalls after its head", framings.length.slice(0, headBytes(framings.length)), stalls],
  ["that stalls in its body", framings.length.slice(0, -5), stalls],
  ["in chunks that stall", framings.chunks.slice(0, -8), stalls],
  ["that stalls, and only the close would end it", framings.close, stalls],
  ["that is reset after its head", framings.length.slice(0, headBytes(framings.length)), resets],
  ["that is reset in its body", framings.length.slice(0, -5), resets],
  ["in chunks that are reset", framings.chunks.slice(0, -8), resets],
  ["that is reset, and only the close would end it", framings.close, resets],
  ["that ends too early", framings.length.slice(0, -5), ends],
];

/** A service whose first answer breaks; what it answers after that. */
async function stageBroken(bytes: string, breakOff: (socket: Socket) => void, second: (socket: Socket) => void) {
  const upstream = await startRawUpstream({
    answer: ({ number }, socket) => {
      if (number === 1) socket.setNoDelay(true).write(bytes, "latin1", () => breakOff(socket));
      else second(socket);
    },
  });
  const stage = await stageProxy({ baseUrl: upstream.url, oneSet: true });
  await stage.recorder.nth("token_adopted", 1);
  // Two refreshes are at least a second apart.
  stage.clock.push(1_000);
  return { ...stage, upstream };
}

const served = (socket: Socket) => void socket.write(rawAnswer(200, "{}"));

describe.each(broken)("a 401 %s", (_name, bytes, breakOff) => {
  it("is followed by the retry all the same", async () => {
    const { port, upstream, recorder, simulator } = await stageBroken(bytes, breakOff, served);
    const answer = await orderRaw(port);
    expect(answer).toMatchObject({ status: 200, body: "{}", isComplete: true });
    expect(answer.value("countersign-attempts")).toBe("2");
    expect(upstream.requests).toHaveLength(2);
    expect(simulator.counts().tokensIssued).toBe(2);
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ retry: "cured" });
  });

  it("is told as a whole answer where no token is to be had", async () => {
    const { port, upstream, recorder, simulator } = await stageBroken(bytes, breakOff, served);
    simulator.faults.add({ host: "login", times: "until_cleared", kind: "answer", status: 401 });
    const startedMs = performance.now();
    const answer = await orderRaw(port, { "Countersign-Timeout-Ms": "600" });
    expect(upstream.requests).toHaveLength(1);
    const [status, code] = breakOff === stalls ? [504, "upstream_timeout"] : [502, "upstream_reset"];
    expect(answer).toMatchObject({ status, isComplete: true });
    expect(JSON.parse(answer.body)).toMatchObject({ code, outcome: "unknown" });
    expect(JSON.parse(answer.body).detail).toMatch(/^The service answered 401\. /);
    if (breakOff === stalls) expect(performance.now() - startedMs).toBeGreaterThanOrEqual(598);
    expect(performance.now() - startedMs).toBeLessThan(6_000);
    expect(recorder.of("request_finished")).toMatchObject([{ status, code, outcome: "unknown", by: "countersign" }]);
  });
});

it.each([
  ["stalls", 504, "upstream_timeout", stalls, "The rest of that answer did not come in time."],
  ["is reset", 502, "upstream_reset", resets, ""],
] as const)(
  "a 401 that %s is told by %i %s where the retry finds no connection",
  async (_name, status, code, breakOff, why) => {
    const upstream = await startRawUpstream({
      answer: (_request, socket) => {
        upstream.refuse();
        socket.write(framings.length.slice(0, -5), () => breakOff(socket));
      },
    });
    const { port, recorder } = await stageProxy({ baseUrl: upstream.url });
    const answer = await orderRaw(port);
    expect(answer).toMatchObject({ status, isComplete: true });
    const detail = expect.stringContaining(`The service answered 401. ${why}`);
    expect(JSON.parse(answer.body)).toMatchObject({ code, outcome: "unknown", detail });
    expect(upstream.requests).toHaveLength(1);
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ retry: "failed" });
  },
);

it("gets a whole answer at each of 100 random points where a 401 may break", async () => {
  const random = seededRandom(drawSeed("broken 401s"));
  const pick = pickBy(random);
  const plans = Array.from({ length: 100 }, () => {
    const bytes = pick(Object.values(framings));
    return { bytes: bytes.slice(0, Math.floor(random() * (bytes.length - 1))), breakOff: resets };
  });
  const upstream = await startRawUpstream({
    answer: ({ number }, socket) => {
      const { bytes, breakOff } = plans[number - 1] ?? { bytes: "", breakOff: ends };
      socket.setNoDelay(true).write(bytes, "latin1", () => breakOff(socket));
    },
  });
  const stage = await stageProxy({ baseUrl: upstream.url, oneSet: true });
  await stage.recorder.nth("token_adopted", 1);
  await stage.simulator.stopLogin();
  const left = plans.keys();
  const statuses: number[] = [];
  const work = async () => {
    for (const _ of left) {
      const answer = await orderRaw(stage.port);
      expect(answer.isComplete).toBe(true);
      statuses.push(answer.status);
    }
  };
  await Promise.all(Array.from({ length: 5 }, work));
  expect(statuses.filter((status) => status === 502)).toHaveLength(100);
  expect(stage.recorder.of("request_finished").filter(({ outcome }) => outcome === "unknown")).toHaveLength(100);
});
