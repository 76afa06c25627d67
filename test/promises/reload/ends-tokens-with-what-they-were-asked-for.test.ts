/** A former secret's token serves on, but a token that was asked for something else does not. */
import { expect, it, vi } from "vitest";
import { audience, startPod } from "./pod.ts";

const set = (more: string) =>
  `credentials: [ { name: blue, clientId: blue-id, clientSecret: { file: DIR/mounts/blue/client-secret }, ${more} } ]`;
const asked = (more: string) => set(`audience: "${audience}", ${more}`);

it.each([
  ["scope", asked("token: { scope: orders }"), asked("token: { scope: refunds }")],
  ["resource", asked("token: { resource: a }"), asked("token: { resource: b }")],
  ["further fields", asked("token: { extra: { tenant: a } }"), asked("token: { extra: { tenant: b } }")],
  ["audience", set(`audience: "${audience}"`), set('audience: "https://other.example"')],
])("with another %s no token of the former serves, also while there is no new one", async (_, before, after) => {
  const pod = await startPod({ settings: { oauthKeys: before } });
  const { simulator } = pod;
  const patience = { timeout: 20_000, interval: 50 };
  await vi.waitFor(async () => expect(await pod.order()).toMatchObject({ status: 200 }), patience);
  simulator.faults.add({ host: "login", clientId: "blue-id", kind: "answer", status: 500, times: "until_cleared" });
  const orders = simulator.seen.apiRequests.length;
  await pod.apply({ oauthKeys: after }, 1);
  expect(await pod.order()).toMatchObject({ headers: { "countersign-outcome": "not_sent" } });
  expect(simulator.seen.apiRequests).toHaveLength(orders);
});
