/** A write that failed is repeated automatically, whatever the error. */
import { expect, it } from "vitest";
import { LateWrites } from "../../src/claims/late-writes.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

const hourMs = 3_600_000;

it("tries failed writes again each second, and makes each of them once", async () => {
  const { clock, written, failing, make, writes, tried } = open();
  failing.add("*");
  for (const value of ["1", "2", "3"]) await expect(writes.write(make(value, value))).rejects.toThrow("no");
  await clock.advance(5_000);
  expect(written).toEqual([]);
  expect(tried).toHaveLength(3 + 5);
  expect(writes.unmade).toBe(3);
  failing.clear();
  await clock.advance(1_000);
  expect(new Set(written)).toEqual(new Set(["1", "2", "3"]));
  expect(writes.unmade).toBe(0);
  await clock.advance(10_000);
  expect(written).toHaveLength(3);
});

it("keeps only the last write with the same id, also if that one succeeds while an earlier one waits", async () => {
  const { clock, written, failing, make, writes } = open();
  failing.add("*");
  await expect(writes.write(make("a", "first", "id"))).rejects.toThrow();
  await expect(writes.write(make("a", "second", "id"))).rejects.toThrow();
  await expect(writes.write(make("b", "old", "other"))).rejects.toThrow();
  failing.clear();
  await writes.write(make("b", "new", "other"));
  await clock.advance(1_000);
  expect(written).toEqual(["new", "second"]);
});

it("keeps no more than 4,096 writes", async () => {
  const { clock, written, make, writes } = open();
  const values = Array.from({ length: 4_097 }, (_, n) => `${n}`);
  for (const value of values) writes.keep(make(value, value));
  await clock.advance(1_000);
  expect(written).toEqual(values.slice(0, 4_096));
  expect(writes.unmade).toBe(1);
});

it("keeps no write whose time is over", async () => {
  const { clock, written, failing, make, writes } = open();
  failing.add("*");
  await expect(writes.write(make("a", "1", "1", 5_000))).rejects.toThrow();
  await clock.advance(6_000);
  failing.clear();
  await clock.advance(6_000);
  expect(written).toEqual([]);
  expect(writes.unmade).toBe(1);
});

it("is not held up by a write that always fails", async () => {
  const { clock, written, failing, make, writes } = open();
  failing.add("*");
  for (const name of ["damaged", "1", "2"]) await expect(writes.write(make(name, name))).rejects.toThrow();
  failing.delete("*");
  failing.add("damaged");
  await clock.advance(2_000);
  expect(new Set(written)).toEqual(new Set(["1", "2"]));
});

it("makes the kept write of a single name on request, and throws its error if that fails", async () => {
  const { written, failing, make, writes } = open();
  failing.add("*");
  for (const name of ["a", "b"]) await expect(writes.write(make(name, name))).rejects.toThrow();
  await expect(writes.resume("a")).rejects.toThrow("no a");
  failing.clear();
  await writes.resume("a");
  expect(written).toEqual(["a"]);
});

it("makes the kept writes before it is closed, as soon as that works", async () => {
  const { clock, written, failing, make, writes } = open();
  failing.add("*");
  for (const value of ["1", "2", "3"]) await expect(writes.write(make(value, value))).rejects.toThrow();
  const closed = writes.close();
  await clock.advance(1_000);
  expect(written).toEqual([]);
  failing.clear();
  await clock.advance(100);
  await closed;
  expect(new Set(written)).toEqual(new Set(["1", "2", "3"]));
});

it("is closed within two seconds, and tries no write from then on, not even one that hung", async () => {
  const { clock, tried, failing, make, writes } = open();
  failing.add("*");
  await expect(writes.write(make("a", "1"))).rejects.toThrow();
  writes.keep({ ...make("c", "hangs"), send: () => new Promise(() => {}) });
  const closed = writes.close();
  await clock.advance(2_000);
  await closed;
  const before = tried.length;
  writes.keep(make("b", "2"));
  await clock.advance(5_000);
  expect(tried).toHaveLength(before);
  expect(clock.pending).toBe(0);
});

it("is closed at once if nothing is kept", async () => {
  const { writes } = open();
  await writes.close();
});

/** The values written, in order; `failing` has the names that cannot be written, `*` means all. */
function open() {
  const clock = new FakeClock();
  const written: string[] = [];
  const tried: string[] = [];
  const failing = new Set<string>();
  const writes = new LateWrites(clock);
  const make = (name: string, value: string, id = value, lifetimeMs = hourMs) => ({
    name,
    id,
    untilMs: clock.nowMs() + lifetimeMs,
    async send() {
      tried.push(value);
      if (failing.has(name) || failing.has("*")) throw new Error(`no ${name}`);
      written.push(value);
    },
  });
  return { clock, writes, written, tried, failing, make };
}
