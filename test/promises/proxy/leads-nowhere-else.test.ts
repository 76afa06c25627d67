/** Rows 2, 3: no target and no Host leads elsewhere (all spellings: the corpora, and test/unit/target.test.ts). */
import { describe, expect, it } from "vitest";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { stageProxy } from "../../../testkit/stage.ts";

const foreign = { code: "target_not_allowed", status: 403 } as const;

describe("an absolute-form target", () => {
  it("of another environment is refused, and that environment hears nothing of it", async () => {
    const [own, other] = [await stageProxy(), await stageProxy()];
    expectFailure(await ask(own.port, { target: `${other.simulator.apiUrl}/create_order` }), foreign);
    expect(own.simulator.counts()).toMatchObject({ apiRequests: 0, apiConnections: 0 });
    expect(other.simulator.counts()).toMatchObject({ apiRequests: 0, apiConnections: 0 });
  });

  it("makes the Host header count for nothing, but for its being one", async () => {
    const { port, simulator } = await stageProxy();
    const target = `${simulator.apiUrl}/create_order`;
    expect((await ask(port, { target, host: ["Host: evil.example"] })).status).toBe(200);
    expectFailure(await ask(port, { target, host: [] }), { status: 400, code: "malformed_request" });
    expect(simulator.counts().apiRequests).toBe(1);
  });
});

it.each(["GET", "PUT", "POST"])(
  "a URL of another host is 403 whatever else is wrong with the %s: it came through HTTP_PROXY",
  async (method) => {
    const stage = await stageProxy();
    expectFailure(await ask(stage.port, { method, target: "http://other.example/", type: [] }), foreign);
    expect(stage.simulator.counts().apiRequests).toBe(0);
  },
);

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
