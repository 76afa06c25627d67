/** A warning is logged when it comes up, and not again at each reload; an acknowledged one is in no log at all. */
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startPod } from "./pod.ts";

const codes = (lines: readonly { readonly code: string }[]) => lines.map(({ code }) => code);

it("tells each warning once, whatever is reloaded beside it", async () => {
  const pod = await startPod();
  expect(codes(pod.lines("configuration_warned"))).toEqual(["hmac_for_existing_clients"]);
  expect(pod.lines("configuration_warned")[0]).toMatchObject({
    level: "warn",
    path: "environments.sandbox.sites.S1000000003",
    message: expect.stringMatching(/new clients must use OAuth.*; move the site to OAuth$/),
  });
  await pod.apply({ more: "timeouts: { request: 7s }" }, 1);
  pod.program.child.kill("SIGHUP");
  await pod.nth("config_unchanged", 1);
  expect(codes(pod.lines("configuration_warned"))).toHaveLength(1);
});

it("tells what is new, also where no setting has changed", async () => {
  const pod = await startPod();
  chmodSync(join(pod.folder.path, "k1"), 0o644);
  pod.program.child.kill("SIGHUP");
  await pod.nth("config_unchanged", 1);
  expect(codes(pod.lines("configuration_warned"))).toEqual(["hmac_for_existing_clients", "secret_readable_by_all"]);
});

it("does not log what is acknowledged", async () => {
  const pod = await startPod({ settings: { more: "acknowledge: [ hmac_for_existing_clients ]" } });
  expect(codes(pod.lines("configuration_warned"))).toEqual([]);
  chmodSync(join(pod.folder.path, "k1"), 0o644);
  await pod.apply({ more: "timeouts: { request: 7s }" }, 1);
  await pod.nth("configuration_warned", 2);
  expect(codes(pod.lines("configuration_warned")).toSorted()).toEqual([
    "hmac_for_existing_clients",
    "secret_readable_by_all",
  ]);
});

it("tells of ten sites that have the same warning, and how many more have it", async () => {
  const pod = await startPod();
  const sites = Array.from(
    { length: 29 },
    (_, n) =>
      `      S${2_000_000_000 + n}: { keys: [{ identifier: K${3_000_000_000 + n}, secret: { file: DIR/k1 } }] }`,
  );
  await pod.apply({ more: sites.join("\n") }, 1);
  const [, ...lines] = pod.lines("configuration_warned");
  expect(codes(lines)).toEqual(Array.from({ length: 10 }, () => "hmac_for_existing_clients"));
  expect(lines.map(({ more }) => more)).toEqual([...Array.from({ length: 9 }, () => undefined), 19]);
});
