/** `npm run bench:micro` measures what it says: each piece of an order's way does its work. */
import { expect, it } from "vitest";
import { operations } from "../../bench/micro/operations.ts";

it.each(operations)("$name", async ({ open }) => {
  const run = open();
  expect(await run()).toBeUndefined();
});
