/** A client that is refused and does not read: its connection goes in time. */
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createListener } from "../../../src/adapters/http-server/listener.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";

const settle = () => new Promise((resolve) => setTimeout(resolve, 50));

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
  const listener = createListener(
    () => ({
      handler: { handle: async (request) => void request.reply(refusal, 0), refuse: async () => {} },
      settings: { clock, bodyBytes: 100, connections: 10, isDraining: () => false },
    }),
    { name: "test", report: () => {} },
  );
  listener.server.listen(0, "127.0.0.1");
  await once(listener.server, "listening");
  const client = connect((listener.server.address() as AddressInfo).port, "127.0.0.1").pause();
  onTestFinished(() => {
    client.destroy();
    listener.server.closeAllConnections();
    listener.server.close();
  });
  client.on("error", () => {}).write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{");
  await settle();
  client.write("}");
  await settle();
  expect(listener.open).toBe(1);
  clock.push(76_000);
  await settle();
  expect(listener.open).toBe(0);
});
