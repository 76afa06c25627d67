/** Row 44: a connection that is being closed as idle takes no request any more: its caller would never see the answer. */
import { once } from "node:events";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { systemClock } from "../../../src/model/clock.ts";
import { RawConnection, rawPost } from "../../../testkit/raw-caller.ts";
import { openListener } from "./listener-alone.ts";

it("serves no request that comes while its connection is being closed", async () => {
  const served: string[] = [];
  const handler = {
    handle: async ({ target }: { readonly target: string }) => void served.push(target),
    refuse: async () => {},
  };
  const { server, port, listener } = await openListener({ handler });
  const accepted = once(server, "connection");
  const idle = await RawConnection.open(port);
  await accepted;
  // Another connection and the request are there in the same turn of the loop, the connection first.
  server.once("connection", () => listener.closeIdle(systemClock.nowMs()));
  const another = connect(port, "127.0.0.1");
  process.nextTick(() => idle.write(rawPost()));
  expect(await idle.ended()).toBe("");
  another.destroy();
  expect(served).toEqual([]);
});
