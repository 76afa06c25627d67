/** The Redis client may give up for good: a probe makes it connect again. */
import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import type { RedisClient } from "../../src/adapters/redis/client.ts";
import { RedisConnection } from "../../src/adapters/redis/connection.ts";
import { EventRecorder } from "../../testkit/event-recorder.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

class Client extends EventEmitter {
  status = "ready";
  connects = 0;

  async connect(): Promise<void> {
    this.connects += 1;
    this.status = "ready";
    this.emit("ready");
  }

  get = async () => null;
}

it("the connection opens again when its client has ended by itself", async () => {
  const clock = new FakeClock();
  const client = new Client();
  const recorder = new EventRecorder();
  const parts = {
    client: client as unknown as RedisClient,
    node: "cache",
    clock,
    random: () => 0.5,
    report: recorder.report,
  };
  const connection = new RedisConnection(parts);
  await connection.run("any", async () => "answer");
  client.emit("close");
  client.status = "end";
  await clock.advance(1_000);
  expect(client.connects).toBe(2);
  expect(await connection.run("any", async () => "answer")).toBe("answer");
  expect(recorder.of("redis_up")).toHaveLength(2);
});
