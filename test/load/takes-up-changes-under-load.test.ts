/** Under 200 requests a second a change is active within 10 s, no request fails, and a bad change is refused. */
import { expect, it } from "vitest";
import { canaries } from "../../testkit/config-folder.ts";
import { startLoad } from "../fleet/redis/load.ts";
import { hmacSite, type Pod, startPod } from "../promises/reload/pod.ts";

const perSecond = 200;
const keyTwo =
  "keys: [ { identifier: K2000000001, secret: { file: DIR/k1 } }, { identifier: K2000000002, secret: { file: DIR/k2 }, default: true } ], identifyBy: key";

it("rotates secrets and changes the configuration under load, and no request fails", async () => {
  const pod = await startPod();
  const { simulator, blue, config, folder, yaml } = pod;
  const load = startLoad(both(pod), perSecond);
  expect((await load.during(1_000)).failures).toEqual([]);

  const anew = "canary-client-secret-blue-anew";
  await pod.told("config_applied", 1, () => {
    simulator.changeClientSecret("blue-id", anew);
    blue.update({ "client-secret": `${anew}\n` });
  });
  const before = simulator.seen.apiRequests.length;
  expect((await load.during(500)).failures).toEqual([]);
  const tokens = simulator.seen.apiRequests.slice(before).flatMap(({ token }) => token ?? []);
  expect(new Set(tokens.slice(perSecond / 10))).toEqual(new Set(["token_2"]));

  // An empty secret, and a file that is no configuration: each is refused as a whole.
  const refused = await pod.told("config_refused", 1, () => blue.update({ "client-secret": "\n" }));
  expect(refused.problems.join()).toContain("the secret is empty");
  await pod.told("config_refused", 2, () => config.update({ "countersign.yaml": "listeners: [" }));
  expect((await pod.metrics()).sum("countersign_config_last_reload_successful")).toBe(0);
  expect((await load.during(500)).failures).toEqual([]);

  await pod.told("config_applied", 2, () => {
    blue.update({ "client-secret": `${anew}\n` });
    config.update({ "countersign.yaml": yaml({ hmacKeys: keyTwo.replaceAll("DIR", folder.path) }) });
  });
  expect((await pod.metrics()).sum("countersign_config_last_reload_successful")).toBe(1);
  const signed = simulator.seen.apiRequests.length;
  expect((await load.during(1_000)).failures).toEqual([]);
  const keys = simulator.seen.apiRequests
    .slice(signed + perSecond / 10)
    .filter(({ auth }) => auth === "hmac")
    .map(({ body }) => JSON.parse(body.toString()).site_identifier);
  expect(new Set(keys)).toEqual(new Set(["K2000000002"]));

  const all = await load.stop();
  expect(all.failures).toEqual([]);
  expect(all.sent).toBeGreaterThan(3 * perSecond);
  const { tokensIssued, unauthorized } = simulator.counts();
  // The two secrets' first tokens, and none for the other changes.
  expect({ tokensIssued, unauthorized }).toEqual({ tokensIssued: 2, unauthorized: 0 });
  const text = pod.program.stdout();
  for (const secret of [...Object.values(canaries), anew]) expect(text).not.toContain(secret);
});

/** Half of the orders are signed, the others carry a token. */
function both({ order }: Pod) {
  return [{ order: () => order() }, { order: () => order({ "Countersign-Site": hmacSite }) }];
}
