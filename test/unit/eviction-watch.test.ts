/** A Redis that drops keys is named at the start, and each minute in which it did. */
import { expect, it } from "vitest";
import type { RedisClient } from "../../src/adapters/redis/client.ts";
import { EvictionWatch } from "../../src/adapters/redis/eviction-watch.ts";
import type { Event } from "../../src/model/events.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

const minuteMs = 60_000;

function open() {
  const clock = new FakeClock();
  const reports: Event[] = [];
  let info = "";
  const client = {
    info: async () => (info === "" ? Promise.reject(new Error("NOPERM")) : info),
  } as unknown as RedisClient;
  const connection = {
    run: <Value>(_: string, task: (client: RedisClient, untilMs: number) => Promise<Value>) => task(client, 0),
  };
  const watch = new EvictionWatch(connection, clock, (event) => void reports.push(event));
  return {
    clock,
    watch,
    async look(policy: string, evicted: number, runId = "a") {
      info = policy === "" ? "" : `run_id:${runId}\r\nmaxmemory_policy:${policy}\r\nevicted_keys:${evicted}\r\n`;
      await clock.advance(minuteMs);
      return reports.splice(0);
    },
  };
}

const told = (policy: string, evicted: number) => [{ kind: "redis_evicts", node: "cache", policy, evicted }];

it("is told once of a policy, and of what is dropped since the last look", async () => {
  const { look } = open();
  expect(await look("allkeys-lru", 7)).toEqual(told("allkeys-lru", 0));
  expect(await look("allkeys-lru", 7)).toEqual([]);
  expect(await look("allkeys-lru", 9)).toEqual(told("allkeys-lru", 2));
  expect(await look("allkeys-lru", 0, "after a restart")).toEqual([]);
  expect(await look("allkeys-lru", 1, "after a restart")).toEqual(told("allkeys-lru", 1));
});

it("says nothing with noeviction, nor if INFO is refused, and ends with its backend", async () => {
  const { look, watch, clock } = open();
  expect(await look("noeviction", 0)).toEqual([]);
  expect(await look("", 0)).toEqual([]);
  watch.close();
  expect(clock.pending).toBe(0);
});
