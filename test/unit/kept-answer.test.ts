/** How much of an answer is read before it is passed on, and which parts of it are kept. */
import { expect, it } from "vitest";
import { formatAnswer, parseAnswer } from "../../src/orders/once.ts";
import { longestReadAheadBytes, readAhead } from "../../src/serving/read-ahead.ts";

it("reads an answer whole up to the limit, and passes a longer one on as it comes", async () => {
  expect(await readAhead(pieces(longestReadAheadBytes - 1, 1).body)).toHaveLength(longestReadAheadBytes);
  const { body, state } = pieces(longestReadAheadBytes, 1, 10);
  const passed = await readAhead(body);
  if (passed instanceof Uint8Array) throw new Error("it is too long");
  let length = 0;
  for await (const piece of passed) length += piece.length;
  expect(length).toBe(longestReadAheadBytes + 11);
  expect(state.isClosed).toBe(true);
});

it("keeps pieces in memory of at most twice their length, and none of it without room", async () => {
  const tiny = Array.from({ length: 10_000 }, () => 1);
  const taken: number[] = [];
  const whole = await readAhead(pieces(...tiny).body, (bytes) => taken.push(bytes) > 0);
  expect(Buffer.from(whole as Uint8Array).equals(Buffer.alloc(10_000, "x"))).toBe(true);
  expect(Math.max(...taken)).toBeLessThanOrEqual(20_000);
  expect(taken.length).toBeLessThan(20);
  const alone = await readAhead(pieces(7).body, (bytes) => bytes === 7);
  expect(alone).toHaveLength(7);
});

it.each([1, 2, 3])("passes an answer on as it comes from its piece %i on, if that has no room", async (last) => {
  const { body, state } = pieces(10, 20, 3_000, 40);
  let asked = 0;
  const passed = await readAhead(body, () => ++asked < last);
  if (passed instanceof Uint8Array) throw new Error("there was no room");
  const lengths: number[] = [];
  for await (const piece of passed) lengths.push(piece.length);
  expect(lengths).toEqual(
    [
      [10, 20, 3_000, 40],
      [10, 20, 3_000, 40],
      [30, 3_000, 40],
    ][last - 1],
  );
  expect(state.isClosed).toBe(true);
});

it("ends the rest of a long answer that nobody reads", async () => {
  const { body, state } = pieces(longestReadAheadBytes, 1, 10);
  const passed = await readAhead(body);
  if (passed instanceof Uint8Array) throw new Error("it is too long");
  for await (const _ of passed) break;
  expect(state.isClosed).toBe(true);
});

it("throws the body's error, before a byte is passed on", async () => {
  async function* broken() {
    yield new Uint8Array(1);
    throw new Error("cut");
  }
  await expect(readAhead(broken())).rejects.toThrow("cut");
});

it.each([
  {
    status: 200,
    headers: ["X-A", "é", "X-A", "2", "Transfer-Encoding", "chunked"],
    kept: ["X-A", "é", "X-A", "2", "Content-Length", "3"],
  },
  { status: 201, headers: ["content-length", "3", "Countersign-Outcome", "answered"], kept: ["content-length", "3"] },
  { status: 204, headers: ["X-A", "1"], kept: ["X-A", "1"] },
])("keeps the status, the header lines that may pass, and the body of a $status", ({ status, headers, kept }) => {
  const body = Buffer.from([0x0a, 0x00, 0xff]);
  const operation = "create_order";
  const formatted = formatAnswer({ status, headers }, body, operation);
  expect(parseAnswer(formatted)).toMatchObject({ status, headers: kept, body, operation });
});

function pieces(...lengths: number[]) {
  const state = { isClosed: false };
  async function* body() {
    try {
      for (const length of lengths) yield new Uint8Array(length).fill(0x78);
    } finally {
      state.isClosed = true;
    }
  }
  return { state, body: body() };
}
