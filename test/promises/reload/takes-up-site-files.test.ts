/** Row 101: sites come, change and go with their files while orders are served; a wrong file is refused alone, and told. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startSimulator } from "../../../simulator/src/service/simulator.ts";
import { call, order } from "../../../testkit/call.ts";
import { ConfigFolder } from "../../../testkit/config-folder.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { orderText, RawConnection, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { plainEnvironment, startProgram, startServe } from "../../../testkit/run-program.ts";

const sites = ["S1000000001", "S1000000002", "S1000000003"] as const;
const [one, two, three] = sites;
const secretOf = (site: string) => `canary-secret-of-${site}`;
/** Uses OAuth; the others sign. */
const four = "S1000000004";
const authorised = `credentials: [ { name: a, clientId: c4, clientSecret: { file: secrets/${four} }, audience: "https://api.example" } ]\n`;
const contentOf = (site: string) =>
  site === four ? authorised : `keys: [ { identifier: K${site.slice(1)}, secret: { file: secrets/${site} } } ]\n`;

/** The built command with a folder of these sites, and the simulator, which knows four. */
async function stage(written: readonly string[]) {
  const simulator = await startSimulator({
    sites: [...sites, four].map((identifier) => {
      if (identifier === four) {
        return {
          identifier,
          credentials: [{ clientId: "c4", clientSecret: secretOf(four), audience: "https://api.example" }],
        };
      }
      const key = { identifier: `K${identifier.slice(1)}`, secret: secretOf(identifier), isDefault: true };
      return { identifier, keys: [key] };
    }),
  });
  onTestFinished(() => simulator.stop());
  const folder = new ConfigFolder();
  for (const site of [...sites, four]) folder.write(`secrets/${site}`, secretOf(site));
  const write = (site: string, content = contentOf(site)) => folder.write(`sites.d/${site}.yaml`, content);
  for (const site of written) write(site);
  const port = await freePort();
  const file = folder.write(
    "countersign.yaml",
    `listeners: [ { bind: "127.0.0.1:${port}", environment: sandbox } ]
admin: { bind: "127.0.0.1:0" }
status: { bind: "127.0.0.1:0" }
environments:
  sandbox:
    baseUrl: ${simulator.apiUrl}
    authUrl: ${simulator.loginUrl}
    allowPlaintext: true
    operations: [create_order]
    sites: { folder: sites.d }
`,
  );
  const program = await startServe(file);
  const nth = async (event: string, n: number) => {
    await program.line((line) => line.includes(`"event":"${event}"`) && program.events(event).length >= n);
    return program.events(event)[n - 1];
  };
  return {
    ...program,
    simulator,
    port,
    file,
    write,
    nth,
    remove: (site: string) => rmSync(join(folder.path, "sites.d", `${site}.yaml`)),
    async send(site: string) {
      const { status, headers } = await call(`http://127.0.0.1:${port}`, order, {
        headers: { "Countersign-Site": site },
      });
      return headers["countersign-error"] ?? status;
    },
  };
}

it("while it serves", async () => {
  const { adminUrl, statusUrl, write, remove, send, nth, stdout, stderr } = await stage([one]);
  expect([await send(one), await send(two)]).toEqual([200, "site_not_configured"]);

  write(two);
  expect(await nth("sites_changed", 1)).toMatchObject({
    environment: "sandbox",
    added: 1,
    changed: 0,
    removed: 0,
    names: [two],
  });
  expect([await send(one), await send(two)]).toEqual([200, 200]);

  write(two, "keys: canary-of-a-bad-file");
  const refused = await nth("site_file_refused", 1);
  expect(refused).toMatchObject({ level: "error", file: `${two}.yaml`, isServed: true });
  expect(refused.problems[0]).toMatch(
    /^line 1, column 1: environments.sandbox.sites.S1000000002.keys: this must be a list/,
  );
  expect([await send(one), await send(two)]).toEqual([200, 200]);
  const metrics = await scrape(adminUrl);
  expect(metrics.value("countersign_sites", { environment: "sandbox" })).toBe(2);
  expect(metrics.value("countersign_site_files_refused", { environment: "sandbox" })).toBe(1);
  expect(metrics.sum("countersign_failures_total", { site: "none", code: "site_not_configured" })).toBe(1);
  // biome-ignore lint/suspicious/noExplicitAny: the test says what is there
  const { environments } = (await (await fetch(`${statusUrl}/status`)).json()) as any;
  expect(environments[0].refusedSiteFiles).toEqual([
    { file: `${two}.yaml`, problems: refused.problems, isServed: true },
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
  const after = await scrape(adminUrl);
  expect(after.value("countersign_site_files_refused", { environment: "sandbox" })).toBe(0);
  // One series for all sites, whatever their number.
  expect([...new Set([...after.series.keys()].join("\n").match(/site="[^"]*"/g))].toSorted()).toEqual([
    'site="all"',
    'site="none"',
  ]);
  expect(stdout() + stderr()).not.toContain("canary");
});

it.each([
  ["its first order", []],
  ["a later order", [200]],
])("while an order of a site that goes is at the service, and of another one %s is half sent", async (_, before) => {
  const { adminUrl, port, simulator, remove, send, nth, events } = await stage([one, two, four]);
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
  expect(events("defect")).toEqual([]);
});

it("and says so where the folder has none", async () => {
  const { port, remove, nth } = await stage([one]);
  remove(one);
  await nth("sites_changed", 1);
  const { json } = await call(`http://127.0.0.1:${port}`, order, { headers: { "Countersign-Site": one } });
  expect([json.code, json.detail]).toEqual([
    "site_not_configured",
    expect.stringMatching(/listener serves\. No site can be used here\. Nothing was sent\.$/),
  ]);
});

it("as check and doctor say", async () => {
  const { file, write } = await stage([one]);
  const run = async (...args: readonly string[]) => {
    const program = startProgram(process.execPath, ["dist/main.js", ...args, "--config", file], plainEnvironment());
    return { exitCode: await program.ended, stdout: program.stdout() };
  };
  expect(await run("check")).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining("sandbox serves 1 site of "),
  });
  write(two, "keys: []");
  const check = await run("check");
  expect(check.exitCode).toBe(1);
  expect(check.stdout).toMatch(
    /refused {2}S1000000002\.yaml\n {4}line 1, column 1: .*keys: this is empty; write at least one/,
  );
  const json = await run("check", "--json");
  expect([json.exitCode, JSON.parse(json.stdout).refusedSiteFiles]).toMatchObject([1, [{ file: `${two}.yaml` }]]);
  const doctor = await run("doctor");
  expect(doctor.exitCode).toBe(1);
  expect(doctor.stdout).toMatch(
    /fail +config +sandbox +.*sites\.d: 1 file refused: S1000000002\.yaml\n +fix: countersign check says why/,
  );
});
