import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/model/clock.ts";

/** Node looks for timers first, for sockets second. */
it("a timer runs after what came in while the process stood still", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const accepted = once(server, "connection");
  const caller = connect((server.address() as { port: number }).port, "127.0.0.1");
  const [peer] = (await accepted) as [Socket];
  const seen: string[] = [];
  caller.once("data", () => seen.push("answer"));
  const timer = new Promise<void>((resolve) => {
    systemClock.after(5, () => {
      seen.push("timer");
      resolve();
    });
  });
  peer.write("x");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  await timer;
  expect(seen).toEqual(["answer", "timer"]);
  caller.destroy();
});

it("a timer that has run out does nothing once it is cancelled before its turn", async () => {
  let isRun = false;
  const cancel = systemClock.after(0, () => {
    isRun = true;
  });
  // Runs in the same phase as the timer, after it: both are due by then.
  const due = new Promise<void>((resolve) => setTimeout(resolve, 1));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  await due;
  cancel();
  await new Promise((resolve) => setImmediate(resolve));
  expect(isRun).toBe(false);
});
