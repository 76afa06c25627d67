/** Rows 8, 46, 48: no caller keeps its place beyond its deadline, neither unread nor pipelined and left. */
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { call } from "../../../testkit/call.ts";
import { RawConnection, rawPost } from "../../../testkit/raw-caller.ts";
import { stageProxy } from "../../../testkit/stage.ts";

const limits = { inFlightPerEnvironment: 2 };

it("cuts off a caller that does not take its answer, at the deadline, and says so", async () => {
  const timeouts = { requestMs: 1_000, tokenMs: 1_000 };
  const { port, url, recorder, simulator } = await stageProxy({ timeouts, limits });
  simulator.faults.add({
    host: "api",
    kind: "answer",
    status: 200,
    executes: true,
    times: 2,
    body: "x".repeat(30_000_000),
  });
  const callers = [1, 2].map(() => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    // Nobody listens to its data, so nothing is read.
    return socket.write(rawPost());
  });
  expect(callers).toHaveLength(2);
  const ended = await recorder.nth("request_finished", 2);
  expect(ended).toMatchObject({
    status: 200,
    by: "service",
    outcome: "unknown",
    code: "upstream_timeout",
    callerLeft: false,
  });
  expect(ended.durationMs).toBeGreaterThan(900);
  expect((await call(url)).status).toBe(200);
});

it("frees the places of pipelined requests whose connection is gone", async () => {
  const { port, url, recorder, simulator } = await stageProxy({ limits });
  const hanging = simulator.faults.add({ host: "api", kind: "hang" });
  const connection = await RawConnection.open(port);
  connection.write(rawPost({ connection: [] }));
  await hanging.whenPlayed(1);
  connection.write(rawPost({ connection: [] }));
  expect((await call(url)).status).toBe(200);
  await connection.leave();
  hanging.release();
  const isOfThose = ({ callerLeft }: { callerLeft: boolean }) => callerLeft;
  expect(await recorder.nth("request_finished", 1, isOfThose)).toMatchObject({ status: 200, outcome: "answered" });
  expect(simulator.counts().apiRequests).toBe(2);
  const answers = await Promise.all([call(url), call(url)]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  // What waited for its turn left with its caller.
  expect(recorder.of("request_finished").filter(isOfThose)).toHaveLength(1);
});
