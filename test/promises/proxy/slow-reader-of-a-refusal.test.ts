/** A client that is refused and does not read: its connection goes in time. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createListener } from "../../../src/adapters/http-server/listener.ts";
import { BufferBudget } from "../../../src/proxy/buffer-budget.ts";
import { listen } from "../../../testkit/listen.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";

it("a client that does not read its refusal is cut off, though it has sent the rest of its body", async () => {
  const clock = new ShiftedClock();
  const body = new Uint8Array(16 * 1_048_576);
  const refusal = {
    status: 404,
    headers: ["Content-Length", String(body.length)],
    body,
    isLocal: true,
    isFramed: true,
  };
  let tell = () => {};
  const refused = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const listener = createListener(
    () => ({
      handler: {
        async handle(request) {
          void request.answer(refusal, 0);
          tell();
        },
        refuse: async () => {},
      },
      settings: {
        clock,
        buffers: new BufferBudget(1_048_576, clock),
        bodyBytes: 100,
        connections: 10,
        isDraining: () => false,
      },
    }),
    { name: "test", report: () => {} },
  );
  const client = connect(await listen(listener.server), "127.0.0.1").pause();
  onTestFinished(() => void client.destroy());
  const accepted = once(listener.server, "connection");
  const request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";
  client.on("error", () => {}).write(request.slice(0, -1));
  const [socket]: Socket[] = await accepted;
  await refused;
  client.write(request.slice(-1));
  await expect.poll(() => socket?.bytesRead).toBe(request.length);
  expect(listener.open).toBe(1);
  clock.push(76_000);
  await expect.poll(() => listener.open).toBe(0);
});
