/** `/readyz` says no while the newest configuration stays refused, where `reload.unreadyAfterRefusal` asks for it. */
import { expect, it } from "vitest";
import { Readiness } from "../../../src/adapters/stats/readiness.ts";
import { get } from "../../../testkit/call.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";
import { type Pod, startPod } from "./pod.ts";

const ready = async ({ adminUrl }: Pod) => {
  const { status, text } = await get(adminUrl, "/readyz");
  return [status, text];
};
const refused = [503, "the newest configuration is refused; the one before it stays active\n"];

it("says no after the time given, serves on, and is ready again with the next good configuration", async () => {
  const pod = await startPod({ settings: { more: "reload: { unreadyAfterRefusal: 1s }" } });
  await pod.apply(pod.yaml().replace("operations:", "operation:"), 1, "config_refused");
  await expect.poll(() => ready(pod), { timeout: 20_000 }).toEqual(refused);
  expect((await get(pod.adminUrl, "/livez")).status).toBe(200);
  expect((await pod.order()).status).toBe(200);

  await pod.apply({}, 1, "config_unchanged");
  expect(await ready(pod)).toEqual([200, "ok\n"]);

  pod.blue.update({ "client-secret": "" });
  await pod.nth("config_refused", 2);
  await expect.poll(() => ready(pod), { timeout: 20_000 }).toEqual(refused);
  pod.blue.update({ "client-secret": "another-secret-of-good-length\n" });
  await pod.nth("config_applied", 1);
  expect(await ready(pod)).toEqual([200, "ok\n"]);
});

/** Refused at second 0; what `/readyz` would say later on. */
function refusedAtZero(unreadyAfterRefusalMs: number | undefined) {
  const clock = new FakeClock();
  const readiness = new Readiness(clock);
  const refuse = () => readiness.report({ kind: "config_refused", hash: "", trigger: "file_change", problems: [] });
  readiness.follow([], unreadyAfterRefusalMs);
  readiness.report({ kind: "started", version: "", configHash: "", routes: [], admin: "", status: "" });
  refuse();
  const isReadyAfter = async (ms: number) => {
    await clock.advance(ms);
    return readiness.view().isReady;
  };
  return { readiness, refuse, isReadyAfter };
}

it("counts from the first refusal: another wrong configuration gives no more time", async () => {
  const { refuse, isReadyAfter } = refusedAtZero(60_000);
  expect(await isReadyAfter(59_000)).toBe(true);
  refuse();
  expect(await isReadyAfter(999)).toBe(true);
  expect(await isReadyAfter(1)).toBe(false);
});

it("is ready for ever where it is not asked to tell", async () => {
  expect(await refusedAtZero(undefined).isReadyAfter(86_400_000)).toBe(true);
});
