/** Permits of requests that can be processed: each has one at most, and leaves it to the next when it waits or ends. */
import { expect, it } from "vitest";
import { BufferBudget } from "../../src/serving/buffer-budget.ts";
import { Admission, ConcurrencyLimit } from "../../src/serving/concurrency-limit.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

const head = { peer: { subject: undefined, address: undefined }, headBytes: 100 };

function open(limit: number) {
  const concurrency = new ConcurrencyLimit(limit);
  const budget = new BufferBudget(1_000_000, new FakeClock());
  const begin = () => {
    const admission = new Admission(concurrency, budget);
    admission.begin(head);
    return admission;
  };
  return { concurrency, begin };
}

it.each(["releasePermit", "end"] as const)("%s leaves the permit to the next request, once", (leave) => {
  const { begin } = open(1);
  const [first, second, third] = [begin(), begin(), begin()];
  first.acquirePermit();
  first.acquirePermit();
  expect(() => second.acquirePermit()).toThrow("As many requests are in flight as may be: 1 ");
  first[leave]();
  first.releasePermit();
  second.acquirePermit();
  expect(() => third.acquirePermit()).toThrow("As many requests are in flight as may be: 1 ");
});

it("a request counts as in flight until it ends, and one that was not admitted does not count", () => {
  const { concurrency, begin } = open(1);
  const admission = begin();
  admission.acquirePermit();
  expect(begin).toThrow("As many requests are in flight as may be: 1 ");
  expect(concurrency.inFlight).toBe(1);
  admission.end();
  expect(concurrency.inFlight).toBe(0);
  begin().acquirePermit();
});
