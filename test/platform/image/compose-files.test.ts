/** deploy/compose: what can be told of it without Docker. */
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { exampleSites } from "../../../simulator/src/example-sites.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { plainEnvironment, runCommand, runToEnd } from "../../../testkit/run-program.ts";

const folder = "deploy/compose";
const { services } = parse(readFileSync(join(folder, "compose.yaml"), "utf8"), { merge: true });
const { version } = JSON.parse(readFileSync("package.json", "utf8"));

/** The folder with its secrets, made by its own script, with the built command in place of the image. */
async function openCopy(): Promise<string> {
  const copy = emptyFolder();
  cpSync(folder, copy, { recursive: true, filter: (path) => !/\/(secrets|\.env)$/.test(path) });
  writeFileSync(
    join(copy, "docker"),
    `#!/bin/sh\nexec "${process.execPath}" "${process.cwd()}/dist/main.js" keygen\n`,
    { mode: 0o755 },
  );
  const env = plainEnvironment({ PATH: `${copy}:${process.env["PATH"]}` });
  expect(await runToEnd(join(copy, "secrets.sh"), [], env)).toEqual({ exitCode: 0, stdout: "", stderr: "" });
  return copy;
}

it("has a configuration that check has nothing against, with the secrets that its script makes", async () => {
  const copy = await openCopy();
  const file = join(copy, "countersign/countersign.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replaceAll("/run/secrets/countersign", `${copy}/secrets`));
  const { exitCode, stdout, stderr } = await runCommand(["check", "--json", "--config", file]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({ valid: true, warnings: [] });
});

it("has the simulator's own credentials, and keeps the key that is there", async () => {
  const copy = await openCopy();
  const read = (name: string) => readFileSync(join(copy, "secrets", name), "utf8");
  const sets = ["blue", "green"].map((name) => ({
    clientId: read(`${name}/client-id`),
    clientSecret: read(`${name}/client-secret`),
    audience: read(`${name}/audience`),
  }));
  expect(sets).toEqual(exampleSites[0]?.credentials);
  const key = read("token-key");
  await runToEnd(join(copy, "secrets.sh"), [], plainEnvironment({ PATH: "/usr/bin:/bin" }));
  expect(read("token-key")).toBe(key);
});

it.each(Object.entries<Service>(services))("locks %s in, and mounts what is there", (_, service) => {
  expect(service).toMatchObject({ read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] });
  for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
  const sources = (service.volumes ?? []).map((mount) => mount.replace(/:\/.*:ro$/, ""));
  expect(sources.filter((source) => source !== "./secrets" && !existsSync(join(folder, source)))).toEqual([]);
});

it("mounts the chart's rules where the configuration of Prometheus looks for them", () => {
  const { rule_files: rules } = parse(readFileSync("deploy/prometheus/prometheus.yaml", "utf8"));
  const mounts = (services.prometheus.volumes as string[]).map((mount) => mount.split(":"));
  const found = rules.map((file: string) => {
    const path = posix.resolve("/etc/prometheus", file);
    const [source = "", target = ""] = mounts.find(([, folder]) => path.startsWith(`${folder}/`)) ?? [];
    return join(folder, source, path.slice(target.length));
  });
  expect(found).toEqual(["helm/countersign/files/rules.yaml"]);
});

it("runs the images of this version", () => {
  for (const name of ["proxy-1", "proxy-2", "simulator"]) {
    expect(services[name].image).toMatch(new RegExp(`:\\$\\{COUNTERSIGN_VERSION:-${version}\\}$`));
  }
  expect(readFileSync(join(folder, "secrets.sh"), "utf8")).toContain(`:-${version}}`);
});

it.each(Object.entries<Service>(services))(
  "starts %s again, and bounds its memory, processes and log",
  (_, service) => {
    expect(service).toMatchObject({
      restart: "unless-stopped",
      mem_limit: expect.stringMatching(/^\d+[mg]$/),
      pids_limit: expect.any(Number),
      logging: { options: { "max-size": expect.stringMatching(/^\d+m$/), "max-file": expect.stringMatching(/^\d$/) } },
    });
    // What a folder in memory holds counts as memory of the container.
    for (const mount of service.tmpfs ?? []) expect(mount).toMatch(/[:,]size=\d+m$/);
  },
);

it("asks for health where the configuration has the admin port", () => {
  const { admin } = parse(readFileSync(join(folder, "countersign/countersign.yaml"), "utf8"));
  const [, port] = /HEALTHCHECK_ADDRESS=127\.0\.0\.1(:7412)$/m.exec(readFileSync("Dockerfile", "utf8")) ?? [];
  expect(port).toBe(admin.bind);
});

interface Service {
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly tmpfs?: readonly string[];
}
