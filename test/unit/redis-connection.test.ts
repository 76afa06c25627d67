/** When a connection to Redis is replaced, and when Redis counts as down. */
import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import type { RedisClient } from "../../src/adapters/redis/client.ts";
import { RedisConnection } from "../../src/adapters/redis/connection.ts";
import type { RedisFailureKind } from "../../src/model/redis-access.ts";
import { EventRecorder } from "../../testkit/event-recorder.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

class Client extends EventEmitter {
  readonly server: Server;
  isOpen = false;

  constructor(server: Server) {
    super();
    this.server = server;
  }

  async connect(): Promise<void> {
    if (this.server.connecting === "hangs") return new Promise(() => {});
    if (this.server.connecting === "refuses") {
      this.emit("error", Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));
      this.emit("end");
      throw new Error("Connection is closed.");
    }
    this.isOpen = true;
  }

  readonly options = {};

  eval = async () => {
    if (this.server.reply === undefined) return 1;
    throw Object.assign(new Error(this.server.reply), { name: "ReplyError" });
  };

  /** The server closes the connection. */
  closeIt() {
    this.isOpen = false;
    this.emit("end");
  }

  disconnect() {
    if (this.isOpen) this.closeIt();
  }
}

const takes: Server = { connecting: "takes", reply: undefined };
const refuses: Server = { connecting: "refuses", reply: undefined };
const hangs: Server = { connecting: "hangs", reply: undefined };
const replies = (reply: string): Server => ({ connecting: "takes", reply });

it("a connection that Redis closes is replaced at once: a task waits for it, and nothing is told", async () => {
  const { close, order, told, clients, clock } = await stage();
  close();
  expect(await order()).toBe(1);
  expect(clients).toHaveLength(2);
  await clock.advance(10_000);
  close();
  expect(await order()).toBe(1);
  expect(told()).toEqual(["up"]);
});

it("a task whose connection closes before its answer is repeated on the next one, once", async () => {
  const { connection, close, told, clients } = await stage();
  const closed = () => Promise.reject(new Error("Connection is closed."));
  let runs = 0;
  const task = (client: RedisClient) => {
    runs += 1;
    if (runs > 1) return client.eval("", 0);
    close();
    return closed();
  };
  expect(await connection.run("key", task)).toBe(1);
  // The client has not noticed yet.
  runs = 0;
  const unwritable = () => Promise.reject(new Error("Stream isn't writeable and enableOfflineQueue options is false"));
  const hidden = (client: RedisClient) => {
    runs += 1;
    return runs > 1 ? client.eval("", 0) : unwritable();
  };
  expect(await connection.run("key", hidden)).toBe(1);
  expect(clients).toHaveLength(3);
  expect(told()).toEqual(["up"]);
  await expect(connection.run("key", closed)).rejects.toMatchObject({ kind: "connection" });
});

it("a connection that is closed and refused is told at once", async () => {
  const { close, order, told, place } = await stage();
  place.server = refuses;
  close();
  await expect(order()).rejects.toMatchObject({ kind: "connection" });
  expect(told()).toEqual(["up", "connection"]);
});

it("a task waits for the next connection within its 100 ms, and is not sent later", async () => {
  const { close, connection, told, place, clock } = await stage();
  place.server = hangs;
  close();
  let sent = 0;
  const waiting = connection.run("key", async () => {
    sent += 1;
  });
  const failed = expect(waiting).rejects.toMatchObject({ kind: "timeout" });
  await clock.advance(99);
  expect(told()).toEqual(["up"]);
  await clock.advance(1);
  await failed;
  expect(told()).toEqual(["up", "timeout"]);
  place.server = takes;
  // The client's own limits end such an attempt earlier.
  await clock.advance(5_000);
  expect(told()).toEqual(["up", "timeout", "up"]);
  expect(sent).toBe(0);
});

it("a Redis that closes each connection soon is down, and gets one connection a second", async () => {
  const { close, told, clients, clock } = await stage();
  for (let closes = 0; closes < 12; closes += 1) {
    close();
    await clock.advance(0);
  }
  expect(told()).toEqual(["up", "connection"]);
  const before = clients.length;
  expect(before).toBeLessThan(14);
  await clock.advance(999);
  expect(clients).toHaveLength(before);
  await clock.advance(1);
  expect(clients).toHaveLength(before + 1);
  expect(told()).toEqual(["up", "connection", "up"]);
});

it.each<[RedisFailureKind, string]>([
  ["readonly", "READONLY You can't write against a read only replica."],
  ["masterdown", "MASTERDOWN Link with MASTER is down"],
  ["loading", "LOADING Redis is loading the dataset in memory"],
  ["misconf", "MISCONF Redis is configured to save RDB snapshots"],
  ["noreplicas", "NOREPLICAS Not enough good replicas to write."],
  ["clusterdown", "CLUSTERDOWN The cluster is down"],
  ["noauth", "NOAUTH Authentication required."],
  ["busy", "BUSY Redis is busy running a script."],
  ["oom", "OOM command not allowed when used memory > 'maxmemory'."],
  ["noperm", "NOPERM this user has no permissions to run the 'set' command"],
  ["no_clock", "NOCLOCK TIME is 0"],
  ["no_clock", "ERR This Redis command is not allowed from script script: 53aa7d, on @user_script:2."],
  ["other", "ERR whatever"],
])(
  "%s: Redis is down, and a new connection is made each second until one works, though no task is sent",
  async (kind, reply) => {
    const { place, order, told, clients, clock, connection } = await stage();
    place.server.reply = reply;
    await expect(order()).rejects.toMatchObject({ kind });
    await clock.advance(1_000);
    expect(told()).toEqual(["up", kind]);
    expect(connection.snapshot()).toMatchObject({ isUp: false, failure: kind });
    const before = clients.length;
    await clock.advance(5_000);
    expect(clients).toHaveLength(before + 5);
    // Those that were replaced are closed once their tasks have ended.
    await clock.advance(100);
    expect(clients.filter(({ isOpen }) => isOpen)).toHaveLength(1);
    place.server = takes;
    await clock.advance(1_000);
    expect(told()).toEqual(["up", kind, "up"]);
    expect(await order()).toBe(1);
  },
);

it("a Redis that stood still for a moment is in use again with its next answer; it is tried once a second", async () => {
  const { clock, connection, order, told, clients } = await stage();
  const hanging = () => connection.run("key", () => new Promise(() => {})).catch(({ kind }) => kind);
  const failed = hanging();
  await clock.advance(100);
  expect(await failed).toBe("timeout");
  expect(told()).toEqual(["up", "timeout", "up"]);
  expect(await order()).toBe(1);
  const again = hanging();
  await clock.advance(100);
  expect(await again).toBe("timeout");
  await clock.advance(799);
  expect(told()).toEqual(["up", "timeout", "up", "timeout"]);
  await clock.advance(101);
  expect(told()).toEqual(["up", "timeout", "up", "timeout", "up"]);
  expect(clients).toHaveLength(1);
});

it("a failure of one key alone is no outage", async () => {
  const { connection, told, clients, clock } = await stage();
  const wrong = Object.assign(new Error("WRONGTYPE Operation against a key"), { name: "ReplyError" });
  await expect(connection.run("key", () => Promise.reject(wrong))).rejects.toMatchObject({ kind: "wrongtype" });
  await clock.advance(5_000);
  expect(told()).toEqual(["up"]);
  expect(clients).toHaveLength(1);
});

it("while a read-only Redis is all there is, its answers are still used, also while another connection hangs", async () => {
  const { place, order, connection, clock } = await stage();
  place.server.reply = "READONLY You can't write against a read only replica.";
  await expect(order()).rejects.toMatchObject({ kind: "readonly" });
  place.server = hangs;
  await clock.advance(1_500);
  expect(connection.snapshot().isUp).toBe(false);
  expect(await connection.run("key", async () => "read")).toBe("read");
});

it("a server that fails from the start is never told to be up", async () => {
  const clock = new FakeClock();
  const recorder = new EventRecorder();
  const open = () => new Client(replies("NOCLOCK TIME is 0")) as unknown as RedisClient;
  const { report } = recorder;
  const connection = new RedisConnection({ ...cache, open, clock, report });
  await expect(connection.run("key", async () => 1)).rejects.toMatchObject({ kind: "connection" });
  expect(recorder.of("redis_down")).toMatchObject([{ failure: "no_clock" }]);
  await clock.advance(10_000);
  expect(recorder.count("redis_up")).toBe(0);
  expect(recorder.count("redis_down")).toBe(1);
});

it("nothing is connected or told after the end", async () => {
  const { connection, told, clients, clock, close } = await stage();
  connection.close();
  close();
  await clock.advance(10_000);
  expect(clients).toHaveLength(1);
  expect(told()).toEqual(["up"]);
  expect(clock.pending).toBe(0);
});

it("says where a server is that refuses connections, and with which code", async () => {
  const { clock, place, close, connection, downs } = await stage();
  place.server = { connecting: "refuses", reply: undefined };
  close();
  await clock.advance(1_000);
  const down = { node: "cache", address: "redis://cache:6379", failure: "connection", cause: "ECONNREFUSED" };
  expect(downs()).toMatchObject([down]);
  expect(connection.snapshot()).toMatchObject({ ...down, isUp: false });
});

it("tells of an outage again when its cause changes, and each minute while it lasts", async () => {
  const { clock, place, close, downs } = await stage();
  place.server = refuses;
  close();
  await clock.advance(1_000);
  const said = () => downs().map(({ cause, awayMs }) => [cause, awayMs]);
  expect(said()).toEqual([["ECONNREFUSED", undefined]]);
  place.server = replies("WRONGPASS invalid username-password pair or user is disabled.");
  await clock.advance(5_000);
  expect(said()).toEqual([
    ["ECONNREFUSED", undefined],
    ["WRONGPASS", 5_000],
  ]);
  await clock.advance(58_000);
  expect(said()).toHaveLength(2);
  await clock.advance(1_000);
  expect(said().slice(2)).toEqual([["WRONGPASS", 65_000]]);
  // However often it changes.
  for (let second = 0; second < 60; second += 1) {
    place.server = second % 2 === 0 ? refuses : replies("LOADING Redis is loading the dataset in memory");
    await clock.advance(1_000);
  }
  expect(said().length).toBeLessThanOrEqual(3 + 12);
});

it("counts each command that found no connection, and tells of it only as an outage", async () => {
  const { clock, place, close, order, failed } = await stage();
  place.server = refuses;
  close();
  await clock.advance(1_000);
  for (let sent = 0; sent < 3; sent += 1) await expect(order()).rejects.toMatchObject({ kind: "connection" });
  expect(failed()).toEqual(
    Array(3).fill({ kind: "redis_failed", node: "cache", failure: "connection", isFirst: false }),
  );
});

const cache = { trial: "", node: "cache", address: "redis://cache:6379", random: () => 1 };

/** How a server treats new connections, and commands. */
interface Server {
  connecting: "takes" | "refuses" | "hangs";
  reply: string | undefined;
}

/** A connection whose clients reach the server that `place.server` is when they are made. */
async function stage() {
  const clock = new FakeClock();
  const recorder = new EventRecorder();
  const place: { server: Server } = { server: { connecting: "takes", reply: undefined } };
  const clients: Client[] = [];
  const open = () => {
    const client = new Client(place.server);
    clients.push(client);
    return client as unknown as RedisClient;
  };
  const { report } = recorder;
  const connection = new RedisConnection({ ...cache, open, clock, report });
  await clock.advance(2_000);
  const order = () => connection.run("countersign:1:{a}:token", (client) => client.eval("", 0));
  return {
    clock,
    place,
    clients,
    connection,
    order,
    close: () => clients.at(-1)?.closeIt(),
    downs: () => recorder.of("redis_down"),
    failed: () => recorder.of("redis_failed"),
    /** `redis_up` or the failure of `redis_down`, in order. */
    told: () =>
      recorder.events.flatMap((event) =>
        event.kind === "redis_down" ? [event.failure] : event.kind === "redis_up" ? ["up"] : [],
      ),
  };
}
