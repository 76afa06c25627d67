/**
 * deploy/compose: checks of its files without Docker; and a run by the README's steps, except Prometheus and Grafana, whose
 * images may not be available.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { exampleSites } from "../../../simulator/src/example-sites.ts";
import { call } from "../../../testkit/call.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { isInstalled, plainEnvironment, runCommand, runToEnd, startProgram } from "../../../testkit/run-program.ts";
import { buildImage, docker, followLog, hasDocker, images, mustDocker, tag } from "./docker.ts";

const folder = "deploy/compose";
const { services } = parse(readFileSync(join(folder, "compose.yaml"), "utf8"), { merge: true });
const { version } = JSON.parse(readFileSync("package.json", "utf8"));

it("has a configuration in which check finds no fault, with the secrets that its script makes", async () => {
  const copy = await openCopy();
  const file = join(copy, "countersign/countersign.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replaceAll("/run/secrets/countersign", `${copy}/secrets`));
  const { exitCode, stdout, stderr } = await runCommand(["check", "--json", "--config", file]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({ valid: true, warnings: [] });
});

it("its script writes the simulator's credentials, and keeps an existing key", async () => {
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

it.each(Object.entries<Service>(services))("runs %s without rights, and mounts only files that exist", (_, service) => {
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

it.each(Object.entries<Service>(services))("restarts %s, and bounds its memory, processes and log", (_, service) => {
  expect(service).toMatchObject({
    restart: "unless-stopped",
    mem_limit: expect.stringMatching(/^\d+[mg]$/),
    pids_limit: expect.any(Number),
    logging: { options: { "max-size": expect.stringMatching(/^\d+m$/), "max-file": expect.stringMatching(/^\d$/) } },
  });
  // The content of a folder in memory counts as memory of the container.
  for (const mount of service.tmpfs ?? []) expect(mount).toMatch(/[:,]size=\d+m$/);
});

it("asks for health at the admin port of the configuration", () => {
  const { admin } = parse(readFileSync(join(folder, "countersign/countersign.yaml"), "utf8"));
  const [, port] = /HEALTHCHECK_ADDRESS=127\.0\.0\.1(:7412)$/m.exec(readFileSync("Dockerfile", "utf8")) ?? [];
  expect(port).toBe(admin.bind);
});

interface Service {
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly tmpfs?: readonly string[];
}

const compose = [["docker", "compose"], ["docker-compose"]].find(([command = "", ...args]) =>
  isInstalled(command, ...args, "version"),
);
const missing = hasDocker ? "Docker Compose" : "Docker";
const name = hasDocker && compose ? "" : `NOT TRIED, ${missing} is not installed: `;
const project = `countersign-test-${process.pid}`;

it.runIf(hasDocker && compose)(
  `${name}two proxies share a token, serve clients of this machine, and are restarted after a kill`,
  { timeout: 300_000 },
  async () => {
    buildImage("proxy", images.proxy);
    buildImage("simulator", images.simulator);
    const ports = [await freePort(), await freePort()] as const;
    const stage = openCompose(ports);
    stage.run("up", "--detach", "--no-build", "simulator", "proxy-1", "proxy-2");
    const proxies = ["proxy-1", "proxy-2"].map(stage.container);
    for (const proxy of proxies) await untilConnected(proxy, 1);
    for (const port of ports) {
      const { status, headers } = await call(`http://127.0.0.1:${port}`);
      expect([status, headers["countersign-outcome"]]).toEqual([200, "answered"]);
    }
    const [killed = "", other = ""] = proxies;
    expect(countAtSimulator(killed)).toMatchObject({ accepted: 2, tokensIssued: 1 });
    expect(docker("exec", other, "countersign", "doctor")).toMatchObject({ exitCode: 0, stderr: "" });

    const { tokensIssued } = countAtSimulator(killed); // doctor has one of its own
    killProcess(killed);
    await untilConnected(killed, 2);
    expect((await call(`http://127.0.0.1:${ports[0]}`)).status).toBe(200);
    expect(countAtSimulator(killed)).toMatchObject({ accepted: 3, tokensIssued });

    const good = readFileSync(stage.configuration, "utf8");
    writeFileSync(stage.configuration, good.replace("operations:", "operation:"));
    const since = new Date().toISOString();
    killProcess(killed);
    await untilEnded(killed, 2, 2, since);
    expect(docker("logs", killed).stderr).toMatch(/countersign\.yaml:\d+:\d+ {2}environments\.sandbox\.operation/);
    expect((await call(`http://127.0.0.1:${ports[1]}`)).status).toBe(200);
    writeFileSync(stage.configuration, good);
    await untilConnected(killed, 3);
    expect((await call(`http://127.0.0.1:${ports[0]}`)).status).toBe(200);

    stage.run("stop");
    expect(proxies.map((proxy) => mustDocker("inspect", proxy, "--format", "{{.State.ExitCode}}"))).toEqual(["0", "0"]);
  },
);

/** The simulator's counts, requested from within the network. */
function countAtSimulator(proxy: string): { readonly accepted: number; readonly tokensIssued: number } {
  const count = "fetch('http://simulator:7421/simulator').then((all) => all.text()).then(console.log)";
  return JSON.parse(mustDocker("exec", proxy, "node", "-e", count));
}

/** Kills the process as the kernel does without memory. `docker kill` would count as stopped by hand. */
function killProcess(container: string): void {
  const id = mustDocker("inspect", container, "--format", "{{.State.Pid}}");
  const kill = `process.kill(${id}, "SIGKILL")`;
  mustDocker("run", "--rm", "--pid", "host", "--user", "0", "--entrypoint", "node", images.proxy, "-e", kill);
}

/** Resolves when the container's log says `times` times that a process has reached Redis: it listens before that. */
async function untilConnected(container: string, times: number): Promise<void> {
  for (;;) {
    let connected = 0;
    const log = followLog(container);
    const isConnected = log.line((line) => line.includes('"event":"redis_up"') && ++connected === times);
    // A log ends with its process, and the next process has another.
    if (
      await isConnected.then(
        () => true,
        () => false,
      )
    )
      return;
  }
}

/** Resolves when so many of the container's processes have ended with this code since then. */
async function untilEnded(container: string, code: number, times: number, since: string): Promise<void> {
  const filters = ["--filter", `container=${container}`, "--filter", "event=die", "--since", since];
  const format = ["--format", "{{.Actor.Attributes.exitCode}}"];
  let ended = 0;
  const events = startProgram("docker", ["events", ...filters, ...format], plainEnvironment());
  await events.line((line) => line === String(code) && ++ended === times);
}

/** A copy of the folder with its secrets, and Compose in it; the proxies use the given ports. */
function openCompose([first, second]: readonly [number, number]) {
  const copy = emptyFolder();
  cpSync("deploy", copy, { recursive: true, filter: (path) => !/\/compose\/(secrets|\.env)$/.test(path) });
  const cwd = join(copy, "compose");
  const env = { ...process.env, COUNTERSIGN_VERSION: tag, REDIS_IMAGE: findRedis() };
  execFileSync(join(cwd, "secrets.sh"), { env });
  // Compose 1 does not accept `name` in the file.
  const input = readFileSync(join(cwd, "compose.yaml"), "utf8")
    .replace(/^name: .*$/m, "")
    .replace("127.0.0.1:7411:", `127.0.0.1:${first}:`)
    .replace("127.0.0.1:7511:", `127.0.0.1:${second}:`);
  const [command = "", ...args] = compose ?? [];
  const options = ["--file", "-", "--project-name", project];
  const io = { cwd, input, env, encoding: "utf8", stdio: "pipe" } as const;
  const run = (...more: string[]) => execFileSync(command, [...args, ...options, ...more], io);
  onTestFinished(() => void run("down", "--volumes"));
  run("config", "--quiet");
  const configuration = join(cwd, "countersign/countersign.yaml");
  return { run, configuration, container: (service: string) => run("ps", "--quiet", service).trim() };
}

/** The image that the file names, or an image with this machine's redis-server. */
function findRedis(): string {
  const named = "redis:7-alpine";
  if (docker("image", "inspect", named).exitCode === 0 || docker("pull", "--quiet", named).exitCode === 0) return named;
  return execFileSync("scripts/redis-image.sh", ["countersign-test-redis:compose"], { encoding: "utf8" }).trim();
}

/** A copy of the folder; its own script makes the secrets, with the built command in place of the image. */
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
