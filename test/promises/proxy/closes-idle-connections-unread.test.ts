/** Row 44: a connection that is being closed as idle takes no request any more: its caller would never see the answer. */
import { once } from "node:events";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { createListener } from "../../../src/adapters/http-server/listener.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { BufferBudget } from "../../../src/proxy/buffer-budget.ts";
import { listen } from "../../../testkit/listen.ts";
import { RawConnection, rawPost } from "../../../testkit/raw-caller.ts";

it("serves no request that comes while its connection is being closed", async () => {
  const served: string[] = [];
  const handler = {
    handle: async ({ target }: { readonly target: string }) => void served.push(target),
    refuse: async () => {},
  };
  const settings = {
    clock: systemClock,
    buffers: new BufferBudget(1_048_576, systemClock),
    bodyBytes: 1_024,
    connections: 8,
    isDraining: () => false,
  };
  const { server, closeIdle } = createListener(() => ({ handler, settings }), { name: "test", report: () => {} });
  const port = await listen(server);
  const accepted = once(server, "connection");
  const idle = await RawConnection.open(port);
  await accepted;
  // Another connection and the request are there in the same turn of the loop, the connection first.
  server.once("connection", () => closeIdle(systemClock.nowMs()));
  const another = connect(port, "127.0.0.1");
  process.nextTick(() => idle.write(rawPost()));
  expect(await idle.ended()).toBe("");
  another.destroy();
  expect(served).toEqual([]);
});
