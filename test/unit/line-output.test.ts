/** Lines wait for each other at most 50 ms, are written in order, and never wait for a reader that does not read. */
import { expect, it } from "vitest";
import { createLogging } from "../../src/adapters/log/logger.ts";
import { createLineOutput, type LineOutput } from "../../src/adapters/log/standard-output.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";
import { finishedRequest } from "../../testkit/finished-request.ts";

const line = (length: number) => `${"x".repeat(length - 1)}\n`;

it("writes lines together, 50 ms after the first at the latest", async () => {
  const { clock, reader, output } = openOutput();
  output.write("1\n");
  await clock.advance(49);
  output.write("2\n");
  expect(reader.text).toBe("");
  await clock.advance(1);
  expect(reader).toMatchObject({ text: "1\n2\n", writes: 1 });
  output.write("3\n");
  await clock.advance(50);
  expect(reader.text).toBe("1\n2\n3\n");
  expect(clock.pending).toBe(0);
});

it("writes early if the lines would fill a quarter of a pipe", async () => {
  const { clock, reader, output } = openOutput();
  for (let n = 0; n < 16; n++) output.write(line(1_000));
  await clock.advance(0);
  expect(reader.writes).toBe(0);
  output.write(line(1_000));
  await clock.advance(0);
  expect(reader).toMatchObject({ writes: 1, text: line(1_000).repeat(17) });
});

it("tries again and again to write to a full reader, but not for each line", async () => {
  const { clock, reader, output } = openOutput();
  reader.room = 3;
  output.write("1\n");
  output.write("2\n");
  output.writePending();
  await clock.advance(0);
  expect(reader.text).toBe("1\n2");
  const { writes } = reader;
  for (let n = 0; n < 100; n++) {
    output.write("3\n");
    output.writePending();
    await clock.advance(0);
  }
  expect(reader.writes).toBe(writes);
  reader.room = Number.POSITIVE_INFINITY;
  await clock.advance(5);
  expect(reader.text).toBe(`1\n2\n${"3\n".repeat(100)}`);
});

it("drops lines beyond 2 MiB, keeps the earlier ones, and says how many were dropped once there is room", async () => {
  const { clock, reader, output, resumed } = openOutput();
  reader.room = 0;
  for (let n = 0; n < 2_200; n++) output.write(line(1_000));
  expect(output.dropped).toBe(2_200 - 2_097);
  reader.room = Number.POSITIVE_INFINITY;
  await clock.advance(50);
  expect(reader.text).toBe(`${line(1_000).repeat(2_097)}dropped ${2_200 - 2_097}\n`);
  expect(resumed).toEqual([2_200 - 2_097]);
});

it("drops everything once the reader has closed its end", async () => {
  const { clock, reader, output, resumed } = openOutput();
  reader.error = "EPIPE";
  output.write("1\n");
  output.write("2\n");
  output.writePending();
  await clock.advance(0);
  output.write("3\n");
  expect(output.dropped).toBe(3);
  expect(resumed).toEqual([]);
});

it("drops lines that a full disk refuses, and says how many as soon as the disk accepts a line again", async () => {
  const { clock, reader, output, resumed } = openOutput();
  reader.error = "ENOSPC";
  for (const text of ["1\n", "2\n"]) {
    output.write(text);
    output.writePending();
    await clock.advance(0);
  }
  output.write("3\n");
  await clock.advance(1_000);
  expect(output.dropped).toBe(3);
  expect(resumed).toEqual([]);
  reader.error = "";
  output.write("4\n");
  await clock.advance(50);
  expect(reader.text).toBe("4\ndropped 3\n");
});

it("keeps the lines apart if a disk is full in the middle of one", async () => {
  const { clock, reader, output } = openOutput();
  reader.room = 3;
  for (const text of ["1\n", "22\n", "3\n"]) output.write(text);
  await clock.advance(50);
  reader.error = "ENOSPC";
  await clock.advance(5);
  expect(output.dropped).toBe(2);
  output.write("4\n");
  await clock.advance(50);
  expect(output.dropped).toBe(3);
  Object.assign(reader, { error: "", room: Number.POSITIVE_INFINITY });
  output.write("5\n");
  await clock.advance(50);
  expect(reader.text).toBe("1\n2\n5\ndropped 3\n");
});

it("loses none of its lines at the end of the process", () => {
  const { reader, output } = openOutput();
  output.write("1\n");
  output.write("2\n");
  output.writeRest();
  expect(reader.text).toBe("1\n2\n");
});

const served = finishedRequest();

it("lets access lines wait, except warnings, and no other lines", async () => {
  const { clock, reader, output } = openOutput();
  const { report } = createLogging("trace", output);
  const eventsNow = async () => {
    await clock.advance(0);
    return [...reader.text.matchAll(/"event":"(\w+)"/g)].map(([, event]) => event);
  };
  report(served);
  expect(await eventsNow()).toEqual([]);
  report({ ...served, outcome: "unknown" });
  expect(await eventsNow()).toEqual(["request_finished", "request_finished"]);
  report(served);
  report({ kind: "token_cache_read", tier: "memory", result: "hit" });
  const before = ["request_finished", "request_finished", "request_finished", "token_cache_read"];
  expect(await eventsNow()).toEqual(before);
  report(served);
  report({ kind: "stopped", drained: true });
  expect(await eventsNow()).toEqual([...before, "request_finished", "stopped"]);
});

/** An output into a text; `room` is the number of bytes that the reader accepts. */
function openOutput() {
  const clock = new FakeClock();
  const reader = { text: "", writes: 0, room: Number.POSITIVE_INFINITY, error: "" };
  const resumed: number[] = [];
  const writeNow = (bytes: Uint8Array) => {
    reader.writes += 1;
    const taken = bytes.subarray(0, reader.room);
    if (reader.error !== "" || taken.length === 0) throw Object.assign(new Error(), { code: reader.error || "EAGAIN" });
    reader.room -= taken.length;
    reader.text += Buffer.from(taken).toString();
    return taken.length;
  };
  const output: LineOutput = createLineOutput(writeNow, clock, (dropped) => {
    resumed.push(dropped);
    output.write(`dropped ${dropped}\n`);
    output.writePending();
  });
  return { clock, reader, output, resumed };
}
