import { describe, expect, it } from "vitest";
import { containerMemory, defaultBudget } from "../../src/app/process-limits.ts";
import type { ProxyError } from "../../src/model/errors.ts";
import { mostParameters } from "../../src/parameters/parameters.ts";
import { BufferBudget } from "../../src/serving/buffer-budget.ts";
import { Admission, ConcurrencyLimit } from "../../src/serving/concurrency-limit.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

const mebibyte = 1_048_576;
const large = 250_000;

describe("the buffer budget", () => {
  it("charges a head by its bytes, a body by its bytes and parameters, and releases the whole charge", () => {
    const { budget, from } = open(64 * mebibyte);
    const buffer = from(undefined);
    buffer.chargeHead(1_000);
    buffer.reserve(large);
    expect(budget.usedBytes).toBe(1_000 + large);
    const body = Buffer.from('{"a":1,"b":"::::"}');
    buffer.chargeBody(body.length, mostParameters(body));
    buffer.chargeParameters(18, 2);
    const chargedBytes = 1_000 + 32_768 + 4 * 18 + 128 * 2;
    expect(budget.usedBytes).toBe(chargedBytes);
    buffer.awaitReader(() => {})();
    buffer.awaitReader(() => {})();
    expect(budget.usedBytes).toBe(chargedBytes + 393_216);
    buffer.close();
    buffer.awaitReader(() => {})();
    expect(budget.usedBytes).toBe(0);
  });

  it("refuses a body that does not fit now as overloaded, and a body that never fits as too large", () => {
    const { budget, from } = open(4 * mebibyte);
    const [first, second] = [from(undefined), from(undefined)];
    first.reserve(900_000);
    expect(() => second.reserve(900_000)).toThrow(expect.objectContaining({ code: "overloaded", outcome: "not_sent" }));
    expect(() => second.reserve(2 * mebibyte)).toThrow(expect.objectContaining({ code: "body_too_large" }));
    // A small body uses no part of the share of incomplete bodies.
    second.reserve(1_000);
    first.close();
    second.close();
    expect(budget.usedBytes).toBe(0);
  });

  it("evicts the oldest slow body of the caller with the most", async () => {
    const { budget, clock, from } = open(4 * mebibyte);
    const other = from("10.0.0.2");
    other.reserve(large);
    const greedy = [from("10.0.0.1"), from("10.0.0.1")];
    const evictions: ProxyError[][] = [[], []];
    greedy.forEach((buffer, index) => {
      buffer.onEvicted = (error) => evictions[index]?.push(error);
      buffer.reserve(large);
    });
    await clock.advance(1_000);
    const newcomer = from("10.0.0.3");
    newcomer.reserve(600_000);
    expect(evictions).toMatchObject([[{ code: "overloaded", outcome: "not_sent" }], []]);
    for (const buffer of [other, ...greedy, newcomer]) buffer.close();
    expect(budget.usedBytes).toBe(0);
  });

  it("is charged for a head from the request's admission to its end", () => {
    const { budget } = open(mebibyte);
    const admission = new Admission(new ConcurrencyLimit(1), budget);
    admission.begin({ peer: { subject: undefined, address: undefined }, headBytes: 16_000 });
    expect(budget.usedBytes).toBe(16_000);
    admission.end();
    expect(budget.usedBytes).toBe(0);
  });

  it("takes room for an answer from incomplete bodies only, and says if there is none", async () => {
    const { budget, clock, from } = open(mebibyte);
    const evictions: string[] = [];
    const [stalled, slow] = [from("10.0.0.1"), from("10.0.0.2")];
    stalled.chargeBody(1, 1);
    stalled.awaitReader(() => evictions.push("stalled"));
    slow.onEvicted = () => evictions.push("slow");
    slow.reserve(large);
    await clock.advance(2_000);
    const answered = from("10.0.0.3");
    answered.chargeBody(1, 1);
    expect(answered.takeForAnswer(large)).toBe(true);
    expect(evictions).toEqual([]);
    expect(answered.takeForAnswer(large)).toBe(true);
    expect(evictions).toEqual(["slow"]);
    const before = budget.usedBytes;
    expect(answered.takeForAnswer(large)).toBe(false);
    expect({ evictions, usedBytes: budget.usedBytes }).toEqual({ evictions: ["slow"], usedBytes: before });
    for (const buffer of [stalled, slow, answered]) buffer.close();
    expect(budget.usedBytes).toBe(0);
  });

  it("evicts nothing that gives no room in the share of incomplete bodies", async () => {
    const { clock, from } = open(4 * mebibyte);
    const evictions: string[] = [];
    const [stalled, small] = [from("10.0.0.1"), from("10.0.0.2")];
    stalled.chargeBody(1, 1);
    stalled.awaitReader(({ code }) => evictions.push(code));
    small.onEvicted = ({ code }) => evictions.push(code);
    small.reserve(1_000);
    await clock.advance(1_000);
    from("10.0.0.3").reserve(900_000);
    expect(() => from("10.0.0.3").reserve(900_000)).toThrow(expect.objectContaining({ code: "overloaded" }));
    expect(evictions).toEqual([]);
  });

  it("cuts off a caller that has not read for a second, once no slow body is left", async () => {
    const { budget, clock, from } = open(4 * mebibyte);
    const evictions: string[] = [];
    const stalled = from("10.0.0.1");
    stalled.chargeBody(1, 1);
    stalled.awaitReader(({ code }) => evictions.push(code))();
    stalled.awaitReader(({ code }) => evictions.push(code));
    const slow = from("10.0.0.1");
    slow.onEvicted = ({ code }) => evictions.push(code);
    slow.reserve(large);
    const newcomers = [from("10.0.0.2"), from("10.0.0.2")];
    await clock.advance(500);
    newcomers[0]?.chargeBody(900_000, 1);
    expect(evictions).toEqual(["overloaded"]);
    expect(() => newcomers[1]?.chargeBody(50_000, 1)).toThrow(expect.objectContaining({ code: "overloaded" }));
    await clock.advance(600);
    newcomers[1]?.chargeBody(50_000, 1);
    expect(evictions).toEqual(["overloaded", "upstream_timeout"]);
    for (const buffer of [stalled, slow, ...newcomers]) buffer.close();
    expect(budget.usedBytes).toBe(0);
  });
});

describe("the default", () => {
  it.each([
    [undefined, 256 * mebibyte],
    [256 * mebibyte, 64 * mebibyte],
    [64 * mebibyte, 16 * mebibyte],
    [512 * mebibyte, 192 * mebibyte],
    [16_384 * mebibyte, 1_024 * mebibyte],
  ])("of a container with %s bytes is %s", (memoryBytes, budget) => expect(defaultBudget(memoryBytes)).toBe(budget));

  it.each([
    [0, undefined],
    [2 ** 64, undefined],
    [8 * mebibyte, 8 * mebibyte],
  ])("takes %s as a limit of %s", (constrained, limit) =>
    expect(containerMemory(constrained, 100 * mebibyte)).toBe(limit),
  );
});

function open(limitBytes: number) {
  const clock = new FakeClock();
  const budget = new BufferBudget(limitBytes, clock);
  const from = (address: string | undefined) => budget.open({ subject: undefined, address });
  return { budget, clock, from };
}
