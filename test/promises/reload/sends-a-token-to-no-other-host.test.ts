/** Row 67: the token of a former secret serves on, but never at another host than before, whatever changes beside it. */
import { expect, it, vi } from "vitest";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { startPod } from "./pod.ts";

it.each([
  ["with the way to the authorization server", "timeouts: { connect: 3s }"],
  ["alone", ""],
])("a baseUrl that changes %s gets no token of a former secret", async (_, more) => {
  const pod = await startPod();
  const isServed = async () => expect(await pod.order()).toMatchObject({ status: 200 });
  await vi.waitFor(isServed, { timeout: 20_000, interval: 50 });
  pod.blue.update({ "client-secret": "mistyped-client-secret\n" });
  await pod.nth("config_applied", 1);
  await isServed();
  const elsewhere = pod.yaml({ more }).replace("baseUrl: http://127.0.0.1", "baseUrl: http://localhost");
  const { apiRequests } = pod.simulator.counts();
  await pod.apply(elsewhere, 2);
  expectFailure(await pod.order(), {
    status: 502,
    code: "credentials_refused",
    detail: /^The authorization server refused/,
  });
  expect(pod.simulator.counts().apiRequests).toBe(apiRequests);
});
