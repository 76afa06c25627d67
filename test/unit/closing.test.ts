import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { endConnection } from "../../src/adapters/http-server/closing.ts";
import { type Clock, systemClock } from "../../src/model/clock.ts";

// After a stop of the process, or a long turn, a timer is due before what has come is read: a close would reset it.
it("a connection whose time is over when it is ended ends orderly, with what has come unread", async () => {
  const server = createServer({ pauseOnConnect: true }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const client = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  onTestFinished(() => void client.destroy());
  const [accepted] = (await once(server, "connection")) as [Socket];
  await new Promise<void>((resolve) => client.write("x".repeat(1_000), () => resolve()));
  const ended = Promise.race([once(client, "end").then(() => "end"), once(client, "close").then(() => "close")]);
  client.resume();
  const isOver: Clock = {
    ...systemClock,
    after(_, task) {
      task();
      return () => {};
    },
  };
  endConnection(accepted, isOver);
  expect(await ended.catch((error: NodeJS.ErrnoException) => error.code)).toBe("end");
});
