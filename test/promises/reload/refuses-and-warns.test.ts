/**
 * A configuration that is refused, or cannot even be read, leaves the old one active, and the next change is noticed; meanwhile
 * `/readyz` says no if `reload.unreadyAfterRefusal` is set. A warning is logged when it appears, and not again at each reload; an
 * acknowledged warning is never logged.
 */
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createReadiness } from "../../../src/adapters/stats/readiness.ts";
import { Reloader } from "../../../src/app/reload.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { get } from "../../../testkit/call.ts";
import { ConfigFolder, sound } from "../../../testkit/config-folder.ts";
import { changed } from "../../../testkit/environment.ts";
import { EventRecorder } from "../../../testkit/event-recorder.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";
import { stage } from "../../../testkit/stage.ts";
import { type Pod, startPod } from "./pod.ts";

const refused = [503, "the newest configuration is refused; the one before it stays active\n"];

it("after the configured time /readyz says no, requests are still served, and the next good configuration is ready again", async () => {
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

it("a rotated secret that is not UTF-8 is refused, and one with a character that does not show is warned of", async () => {
  const pod = await startPod({ settings: { more: "acknowledge: [hmac_for_existing_clients]" } });
  const secret = "another-secret-of-good-length";
  pod.blue.update({ "client-secret": [...secret].map((letter) => `${letter}\0`).join("") });
  const refusal = await pod.nth("config_refused", 1);
  expect(JSON.stringify(refusal)).toContain("the secret is UTF-16");
  expect((await pod.order()).status).toBe(200);

  pod.blue.update({ "client-secret": `\u200b${secret}` });
  const warning = await pod.nth("configuration_warned", 1);
  expect(warning).toMatchObject({
    code: "secret_not_plain",
    message: expect.stringContaining("(U+200B) at character 1"),
  });
  expect(JSON.stringify([refusal, warning])).not.toContain(secret);
});

/** The readiness after a refusal at second 0; `isReadyAfter` moves the clock on. */
function refusedAtZero(unreadyAfterRefusalMs: number | undefined) {
  const clock = new FakeClock();
  const readiness = createReadiness(clock);
  const refuse = () =>
    readiness.report({ kind: "config_refused", hash: "", trigger: "file_change", problems: [], problemCount: 0 });
  readiness.follow([], unreadyAfterRefusalMs);
  readiness.report({ kind: "started", version: "", configHash: "", routes: [], admin: "", status: "" });
  refuse();
  const isReadyAfter = async (ms: number) => {
    await clock.advance(ms);
    return readiness.view().isReady;
  };
  return { readiness, refuse, isReadyAfter };
}

it("/readyz counts from the first refusal: another wrong configuration gives no more time", async () => {
  const { refuse, isReadyAfter } = refusedAtZero(60_000);
  expect(await isReadyAfter(59_000)).toBe(true);
  refuse();
  expect(await isReadyAfter(999)).toBe(true);
  expect(await isReadyAfter(1)).toBe(false);
});

it("/readyz stays ready if unreadyAfterRefusal is not set", async () => {
  expect(await refusedAtZero(undefined).isReadyAfter(86_400_000)).toBe(true);
});

/** A reloader whose proxy applies every configuration, and whose reading fails on demand. */
async function openReloader() {
  const folder = new ConfigFolder();
  const recorder = new EventRecorder();
  const first = await folder.loadSound(sound);
  let { config } = first;
  const running = {
    get config() {
      return config;
    },
    async apply(next: typeof config) {
      config = next;
    },
  };
  const failures: Error[] = [];
  const load = () => {
    const failure = failures.shift();
    return failure === undefined ? loadConfig(`${folder.path}/countersign.yaml`) : Promise.reject(failure);
  };
  const applied: number[] = [];
  const onApplied = ({ timeouts }: typeof config) => void applied.push(timeouts.requestMs);
  const reloader = new Reloader(
    { running, load, clock: systemClock, report: recorder.report, onApplied, warn: () => {} },
    first,
  );
  onTestFinished(() => reloader.close());
  const write = (more: string) => folder.write("countersign.yaml", `${sound.replaceAll("DIR", folder.path)}${more}\n`);
  return { recorder, reloader, failures, applied, write };
}

it("a defect while reading is reported and refused, and the files are read again on demand", async () => {
  const { recorder, reloader, failures, applied, write } = await openReloader();
  write("timeouts: { request: 19s }");
  failures.push(new TypeError("canary"));
  await reloader.reload("sighup");
  expect(recorder.of("defect")).toEqual([
    { kind: "defect", where: "reload", error: expect.stringMatching(/^TypeError at /) },
  ]);
  expect(recorder.of("config_refused")).toMatchObject([
    { trigger: "sighup", problems: ["Countersign failed in a way that it should not"] },
  ]);
  expect(applied).toEqual([]);
  await reloader.reload("sighup");
  expect(applied).toEqual([19_000]);
});

it("the next change of a file is noticed also after a change that could not be read", async () => {
  const { recorder, failures, applied, write } = await openReloader();
  failures.push(new TypeError("canary"));
  write("timeouts: { request: 19s }");
  await recorder.nth("config_refused", 1);
  write("timeouts: { request: 18s }");
  await expect.poll(() => applied, { timeout: 10_000 }).toEqual([18_000]);
  expect(recorder.count("config_refused")).toBe(1);
});

it("of many problems 50 are logged, and their number", async () => {
  const { recorder, reloader, write } = await openReloader();
  write(Array.from({ length: 1_000 }, (_, n) => `unknown${n}: 1`).join("\n"));
  await reloader.reload("sighup");
  const [refused] = recorder.of("config_refused");
  expect(refused?.problems).toHaveLength(50);
  expect(refused?.problemCount).toBe(1_000);
});

it("of many refused site files twenty are logged, and the number of the others", async () => {
  const { config, recorder, reload } = await stage();
  const refused = Array.from({ length: 10_000 }, (_, n) => ({ file: `S${n}.yaml`, problems: [], isServed: true }));
  await reload(changed(config, () => ({ siteFolder: { path: "sites.d", refused } })));
  const events = recorder.of("site_file_refused");
  expect(events.map(({ more }) => more)).toEqual([...Array.from({ length: 19 }, () => undefined), 9_980]);
});

const codes = (lines: readonly { readonly code: string }[]) => lines.map(({ code }) => code);

it("each warning is logged once, however often the configuration is reloaded", async () => {
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

  // A new warning, though no setting has changed.
  chmodSync(join(pod.folder.path, "k1"), 0o644);
  pod.program.child.kill("SIGHUP");
  await pod.nth("config_unchanged", 2);
  expect(codes(pod.lines("configuration_warned"))).toEqual(["hmac_for_existing_clients", "secret_readable_by_all"]);
});

it("an acknowledged warning is not logged", async () => {
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

it("if many sites have the same warning, ten are logged, and the number of the others", async () => {
  const pod = await startPod();
  const sites = Array.from({ length: 29 }, (_, n) => {
    return `      S${2_000_000_000 + n}: { keys: [{ identifier: K${3_000_000_000 + n}, secret: { file: DIR/k1 } }] }`;
  });
  await pod.apply({ more: sites.join("\n") }, 1);
  const [, ...lines] = pod.lines("configuration_warned");
  expect(codes(lines)).toEqual(Array.from({ length: 10 }, () => "hmac_for_existing_clients"));
  expect(lines.map(({ more }) => more)).toEqual([...Array.from({ length: 9 }, () => undefined), 19]);
});

async function ready({ adminUrl }: Pod) {
  const { status, text } = await get(adminUrl, "/readyz");
  return [status, text];
}
