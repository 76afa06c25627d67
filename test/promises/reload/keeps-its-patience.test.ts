/** Row 54, decision 6: a reload ends no pause, so that reloading cannot become a way to flood the authorization server. */
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { stageProxy } from "../../../testkit/stage.ts";

it("asks no sooner after a reload for a token that was refused", async () => {
  const { proxy, simulator, recorder, config, url } = await stageProxy({ oneSet: true });
  await recorder.nth("token_adopted", 1);
  simulator.deleteCredentials("blue-id");
  simulator.revokeAllTokens();
  expect((await call(url)).status).toBe(401);
  const { tokenRequests } = simulator.counts();
  for (let n = 1; n <= 3; n++) {
    // Other timeouts make another source of tokens.
    const timeouts = { ...config.timeouts, tokenMs: config.timeouts.tokenMs + n };
    await proxy.apply({ ...config, timeouts, hash: `ba987654321${n}` }, "sighup");
    expect((await call(url)).status).toBe(401);
  }
  expect(simulator.counts().tokenRequests).toBe(tokenRequests);
});
