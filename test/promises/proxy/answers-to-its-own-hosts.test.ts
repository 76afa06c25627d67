/** Proves row 3 with names of the configuration; the headers corpus has Hosts that are none, two or foreign. */
import { expect, it } from "vitest";
import { ask } from "../../../testkit/raw-caller.ts";
import { stageProxy } from "../../../testkit/stage.ts";

it("answers to the names of its configuration and to the service's own, and tells whom it means upstream", async () => {
  const bind = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
  const listeners = [{ bind, environment: "sandbox", hosts: ["countersign.internal"] }];
  const { port, simulator } = await stageProxy({ config: { listeners } });
  const upstream = new URL(simulator.apiUrl).host;
  for (const host of ["countersign.internal", "COUNTERSIGN.internal:7411", upstream]) {
    expect((await ask(port, { host: [`Host: ${host}`] })).status).toBe(200);
  }
  for (const { rawHeaders } of await simulator.seen.whenApiRequests(3)) {
    expect(rawHeaders.slice(0, 2)).toEqual(["host", upstream]);
  }
});
