/** The code that the benchmarks measure does its work. */
import { expect, it } from "vitest";
import { isSigned, order, signOrder } from "../../bench/http/job.mjs";
import { operations } from "../../bench/micro/operations.ts";

it("counts only an order that was signed after it was completed", () => {
  const signed = signOrder(order);
  expect(isSigned(signed)).toBe(true);
  expect(isSigned(signed.replace("123.40", "123.41"))).toBe(false);
  expect(isSigned(order)).toBe(false);
});

it.each(operations)("the measured step of an order does its work: $name", async ({ open }) => {
  expect(await open()()).toBeUndefined();
});
