import { describe, expect, it } from "vitest";
import { containerMemory, defaultBudget } from "../../src/app/process-limits.ts";
import { ByteBudget } from "../../src/proxy/byte-budget.ts";
import { RequestMemories } from "../../src/proxy/request-memory.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

const mebibyte = 1_048_576;
const large = 250_000;

function open(limitBytes: number) {
  const budget = new ByteBudget(limitBytes);
  const clock = new FakeClock();
  const memories = new RequestMemories(budget, clock);
  return { budget, clock, from: (address: string | undefined) => memories.open({ subject: undefined, address }) };
}

describe("row 68: the byte budget", () => {
  it("charges a body by its bytes and parameters, and gives all of it back", () => {
    const { budget, from } = open(64 * mebibyte);
    const memory = from(undefined);
    memory.body.reserve(large);
    expect(budget.usedBytes).toBe(large);
    memory.holdBody(Buffer.from('{"a":1,"b":"::::"}'));
    memory.holdParameters(18, 2);
    expect(budget.usedBytes).toBe(32_768 + 4 * 18 + 128 * 2);
    memory.holdAnswer();
    memory.holdAnswer();
    expect(budget.usedBytes).toBe(32_768 + 4 * 18 + 128 * 2 + 393_216);
    memory.close();
    memory.holdAnswer();
    expect(budget.usedBytes).toBe(0);
  });

  it("refuses what does not fit now as overloaded, and what never fits as too large", () => {
    const { budget, from } = open(4 * mebibyte);
    const [first, second] = [from(undefined), from(undefined)];
    first.body.reserve(900_000);
    expect(() => second.body.reserve(900_000)).toThrow(
      expect.objectContaining({ code: "overloaded", outcome: "not_sent" }),
    );
    expect(() => second.body.reserve(2 * mebibyte)).toThrow(expect.objectContaining({ code: "body_too_large" }));
    // A small body needs no part of the share.
    second.body.reserve(1_000);
    first.close();
    second.close();
    expect(budget.usedBytes).toBe(0);
  });

  it("lets the oldest slow body of the caller with the most give way", async () => {
    const { budget, clock, from } = open(4 * mebibyte);
    const other = from("10.0.0.2");
    other.body.reserve(large);
    const greedy = [from("10.0.0.1"), from("10.0.0.1")];
    for (const { body } of greedy) body.reserve(large);
    await clock.advance(1_000);
    const newcomer = from("10.0.0.3");
    newcomer.body.reserve(600_000);
    await expect(greedy[0]?.body.gaveWay).rejects.toMatchObject({ code: "overloaded", outcome: "not_sent" });
    for (const memory of [other, ...greedy, newcomer]) memory.close();
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
