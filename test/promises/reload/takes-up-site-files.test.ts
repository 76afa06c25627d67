/** Sites are added, changed and removed with their files while orders are served; only a wrong file is refused, and reported. */
import { rmSync } from "node:fs";
import { expect, it } from "vitest";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { orderText, RawConnection, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { runCommand } from "../../../testkit/run-program.ts";
import { startPod } from "./pod.ts";

const sites = ["S1000000001", "S1000000002", "S1000000003"] as const;
const [one, two, three] = sites;
/** The site that uses OAuth; the others sign. */
const four = "S1000000004";
const all = [...sites, four];
const secretOf = (site: string) => `canary-secret-of-${site}`;
const audience = "https://api.example";
const simulated = [
  ...sites.map((identifier) => ({
    identifier,
    keys: [{ identifier: `K${identifier.slice(1)}`, secret: secretOf(identifier), isDefault: true }],
  })),
  { identifier: four, credentials: [{ clientId: "c4", clientSecret: secretOf(four), audience }] },
];

it("site files are applied while orders are served", async () => {
  const { program, metrics, status, statusUrl, write, remove, send, nth } = await stage([one]);
  expect([await send(one), await send(two)]).toEqual([200, "site_not_configured"]);

  write(two);
  const added = { environment: "sandbox", added: 1, changed: 0, removed: 0, names: [two] };
  expect(await nth("sites_changed", 1)).toMatchObject(added);
  expect([await send(one), await send(two)]).toEqual([200, 200]);

  write(two, "keys: canary-of-a-bad-file");
  const refused = await nth("site_file_refused", 1);
  expect(refused).toMatchObject({ level: "error", file: `${two}.yaml`, isServed: true });
  expect(refused.problems[0]).toMatch(
    /^line 1, column 1: environments.sandbox.sites.S1000000002.keys: this must be a list/,
  );
  expect([await send(one), await send(two)]).toEqual([200, 200]);
  const { value, sum } = await metrics();
  expect(value("countersign_sites", { environment: "sandbox" })).toBe(2);
  expect(value("countersign_site_files_refused", { environment: "sandbox" })).toBe(1);
  expect(sum("countersign_failures_total", { site: "none", code: "site_not_configured" })).toBe(1);
  const { environments } = await status();
  expect(environments[0].refusedSiteFiles).toEqual([
    { file: `${two}.yaml`, problems: [expect.objectContaining({ line: 1, column: 1 })], isServed: true },
  ]);
  expect(await (await fetch(statusUrl)).text()).toContain(`Site files of sandbox are refused: ${two}.yaml.`);

  write(three, contentOf(one));
  expect(await nth("site_file_refused", 2)).toMatchObject({ file: `${three}.yaml`, isServed: false });
  expect([await send(one), await send(three)]).toEqual([200, "site_not_configured"]);
  write(three);
  expect(await nth("sites_changed", 2)).toMatchObject({ added: 1, names: [three] });

  remove(two);
  expect(await nth("sites_changed", 3)).toMatchObject({ removed: 1, names: [two] });
  expect([await send(one), await send(two), await send(three)]).toEqual([200, "site_not_configured", 200]);
  const after = await metrics();
  expect(after.value("countersign_site_files_refused", { environment: "sandbox" })).toBe(0);
  // One series for all sites, whatever their number.
  expect([...new Set([...after.series.keys()].join("\n").match(/site="[^"]*"/g))].toSorted()).toEqual([
    'site="all"',
    'site="none"',
  ]);
  expect(program.stdout() + program.stderr()).not.toContain("canary");
});

it.each([
  ["its first order", []],
  ["a later order", [200]],
])("removing a site keeps its order at the service, and another's that is half sent: %s", async (_, before) => {
  const { adminUrl, port, simulator, remove, send, nth, lines } = await stage([one, two, four]);
  for (const status of before) expect(await send(four)).toBe(status);
  const hang = simulator.faults.add({ host: "api", kind: "hang" });
  const signed = send(two);
  await hang.whenPlayed(1);
  const caller = await RawConnection.open(port);
  const [head = ""] = rawPost({ more: [`Countersign-Site: ${four}`] }).split(orderText);
  caller.write(`${head}${orderText.slice(0, 5)}`);
  await whenInFlight({ adminUrl }, 2);
  remove(two);
  remove(four);
  expect(await nth("sites_changed", 1)).toMatchObject({ removed: 2, names: [two, four] });
  hang.release();
  caller.write(orderText.slice(5));
  expect(await signed).toBe(200);
  expect(readAnswers(await caller.ended()).map(({ status }) => status)).toEqual([200]);
  expect([await send(two), await send(four)]).toEqual(["site_not_configured", "site_not_configured"]);
  expect(lines("defect")).toEqual([]);
});

it("a folder that is empty at once keeps its sites in force, and is reported", async () => {
  const { order, remove, nth } = await stage([one]);
  remove(one);
  expect(await nth("site_file_refused", 1)).toMatchObject({ isServed: true });
  expect((await order({ "Countersign-Site": one })).status).toBe(200);
});

it("with no site file at the start, an answer says that there is no site", async () => {
  const { order } = await stage([]);
  const { json } = await order({ "Countersign-Site": one });
  expect([json.code, json.detail]).toEqual([
    "site_not_configured",
    expect.stringMatching(/listener serves\. No site can be used here\. Nothing was sent\.$/),
  ]);
});

it("check and doctor report wrong site files", async () => {
  const { config, write } = await stage([one]);
  const run = (...args: readonly string[]) => runCommand([...args, "--config", `${config.path}/countersign.yaml`]);
  const serves = expect.stringContaining("sandbox serves 1 site of ");
  expect(await run("check")).toMatchObject({ exitCode: 0, stdout: serves });
  write(two, "keys: []");
  const check = await run("check");
  expect(check.exitCode).toBe(1);
  expect(check.stdout).toMatch(
    /refused {2}S1000000002\.yaml\n.*\/S1000000002\.yaml:1:1 {2}.*keys: this is empty\n.*\n {4}fix {4}write at least one\n/,
  );
  expect(check.stdout).toMatch(/refused {2}1 file of sites; .*countersign\.yaml itself is valid\n$/);
  const json = await run("check", "--json");
  expect([json.exitCode, JSON.parse(json.stdout).refusedSiteFiles]).toMatchObject([1, [{ file: `${two}.yaml` }]]);
  const doctor = await run("doctor");
  expect(doctor.exitCode).toBe(1);
  expect(doctor.stdout).toMatch(
    /fail +config +sandbox +.*sites\.d\/: 1 file refused: S1000000002\.yaml\n +fix: countersign check says why/,
  );
});

it("check and doctor show control characters in names of site files by their numbers", async () => {
  const { config, write } = await stage([one]);
  write("\u001b[31mS1\u0007\u009b\u202e", contentOf(two));
  for (const command of ["check", "doctor"]) {
    const { exitCode, stdout, stderr } = await runCommand([command, "--config", `${config.path}/countersign.yaml`]);
    expect(exitCode).toBe(1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not come
    expect(stdout + stderr).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
    expect(stdout).toContain("\\u{1b}[31mS1\\u{7}\\u{9b}\\u{202e}");
  }
});

/** A site's file; its paths are relative to the configuration's folder. */
function contentOf(site: string) {
  return site === four
    ? `credentials: [ { name: a, clientId: c4, clientSecret: { file: ../../secrets/${four} }, audience: "${audience}" } ]\n`
    : `keys: [ { identifier: K${site.slice(1)}, secret: { file: ../../secrets/${site} } } ]\n`;
}

/** A pod with a folder of these sites, and the simulator, which knows four sites. */
async function stage(written: readonly string[]) {
  const nameOf = (site: string) => `sites.d/${site}.yaml`;
  const files = Object.fromEntries([
    ...all.map((site) => [`secrets/${site}`, secretOf(site)]),
    ["sites.d/.keep", ""],
    ...written.map((site) => [nameOf(site), contentOf(site)]),
  ]);
  const settings = { sites: "sites: { folder: DIR/sites.d }" };
  const pod = await startPod({ settings, files, simulator: { sites: simulated } });
  return {
    ...pod,
    write: (site: string, content = contentOf(site)) => pod.folder.write(nameOf(site), content),
    remove: (site: string) => rmSync(`${pod.folder.path}/${nameOf(site)}`),
    async send(site: string) {
      const { status, headers } = await pod.order({ "Countersign-Site": site });
      return headers["countersign-error"] ?? status;
    },
  };
}
