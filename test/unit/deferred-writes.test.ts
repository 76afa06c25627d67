import { expect, it } from "vitest";
import type { RedisClient } from "../../src/adapters/redis/client.ts";
import { DeferredWrites } from "../../src/adapters/redis/deferred-writes.ts";
import { RedisFailure } from "../../src/adapters/redis/failure.ts";
import type { RedisFailureKind } from "../../src/model/redis-access.ts";

/** What was written, in order; `refuse` says how the write of a name fails. */
function open(most = 10, keeps: (error: unknown) => boolean = () => true) {
  const written: string[] = [];
  const failing = new Map<string, RedisFailureKind>();
  let back = () => {};
  const run = async <Value>(name: string, task: (client: RedisClient) => Promise<Value>): Promise<Value> => {
    const kind = failing.get(name) ?? failing.get("*");
    if (kind !== undefined) throw new RedisFailure(kind);
    return task({} as RedisClient);
  };
  const onReturn = (listener: () => void) => {
    back = listener;
  };
  const writes = new DeferredWrites({ run, onReturn }, { most, keeps });
  const write = (name: string, value: string, id?: string) =>
    writes.write({ name, send: async () => void written.push(value), ...(id === undefined ? {} : { id }) });
  return { writes, written, failing, write, back: () => back() };
}

it("keeps what failed until Redis is back, and makes it in order, once", async () => {
  const { written, failing, write, writes, back } = open();
  failing.set("*", "connection");
  for (const value of ["1", "2", "3"]) await expect(write(value, value)).rejects.toThrow("connection");
  failing.clear();
  back();
  await expect.poll(() => written).toEqual(["1", "2", "3"]);
  await writes.resume();
  expect(written).toEqual(["1", "2", "3"]);
});

it("keeps the last of those with one id, also when that is made while an earlier one waits", async () => {
  const { written, failing, write, writes } = open();
  failing.set("*", "connection");
  await expect(write("a", "first", "id")).rejects.toThrow();
  await expect(write("a", "second", "id")).rejects.toThrow();
  await expect(write("b", "old", "other")).rejects.toThrow();
  failing.clear();
  await write("b", "new", "other");
  await writes.resume();
  expect(written).toEqual(["new", "second"]);
});

it("keeps no more than it may, and nothing that is not worth it", async () => {
  const isAway = (error: unknown) => error instanceof RedisFailure && error.kind === "connection";
  const { written, failing, write, writes } = open(2, isAway);
  failing.set("full", "oom").set("*", "connection");
  for (const name of ["full", "1", "2", "3"]) await expect(write(name, name)).rejects.toThrow();
  failing.clear();
  await writes.resume();
  expect(written).toEqual(["1", "2"]);
  failing.set("*", "connection");
  for (const name of ["lost", "4"]) await expect(write(name, name)).rejects.toThrow();
  failing.delete("*");
  failing.set("lost", "oom");
  await writes.resume();
  failing.clear();
  await writes.resume();
  expect(written).toEqual(["1", "2", "4"]);
});

it("is not held up by one that always fails, and tries no more of them at a time than that one", async () => {
  const { written, failing, write, writes } = open();
  failing.set("*", "connection");
  for (const name of ["damaged", "1", "2"]) await expect(write(name, name)).rejects.toThrow();
  failing.delete("*");
  failing.set("damaged", "wrongtype");
  await writes.resume();
  expect(written).toEqual([]);
  await writes.resume();
  expect(written).toEqual(["1", "2"]);
});

it("makes what is kept of one name alone, and says when it cannot", async () => {
  const { written, failing, write, writes } = open();
  failing.set("*", "connection");
  for (const name of ["a", "b"]) await expect(write(name, name)).rejects.toThrow();
  await expect(writes.resumeOf("a")).rejects.toThrow("connection");
  failing.clear();
  await writes.resumeOf("a");
  expect(written).toEqual(["a"]);
  await writes.resume();
  expect(written).toEqual(["a", "b"]);
});
