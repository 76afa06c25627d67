/** deploy/compose at work, but for Prometheus and Grafana, whose images may not be had: the README's steps. */
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { call } from "../../../testkit/call.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { isInstalled, plainEnvironment, startProgram } from "../../../testkit/run-program.ts";
import { buildImage, docker, followLog, hasDocker, images, mustDocker, tag } from "./docker.ts";

const compose = [["docker", "compose"], ["docker-compose"]].find(([command = "", ...args]) =>
  isInstalled(command, ...args, "version"),
);
const missing = hasDocker ? "Docker Compose" : "Docker";
const name = hasDocker && compose ? "" : `NOT TRIED, ${missing} is not installed: `;
const project = `countersign-test-${process.pid}`;
const buildMs = 300_000;

it.runIf(hasDocker && compose)(
  `${name}two proxies share a token, serve all of this machine, and come back when they are killed`,
  { timeout: buildMs },
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

/** What the simulator has seen, asked from within the network. */
function countAtSimulator(proxy: string): { readonly accepted: number; readonly tokensIssued: number } {
  const count = "fetch('http://simulator:7421/simulator').then((all) => all.text()).then(console.log)";
  return JSON.parse(mustDocker("exec", proxy, "node", "-e", count));
}

/** As the kernel ends a process that has no memory left. `docker kill` would count as stopped by hand. */
function killProcess(container: string): void {
  const id = mustDocker("inspect", container, "--format", "{{.State.Pid}}");
  const kill = `process.kill(${id}, "SIGKILL")`;
  mustDocker("run", "--rm", "--pid", "host", "--user", "0", "--entrypoint", "node", images.proxy, "-e", kill);
}

/** Resolves when its log, of all its processes, says so often that one has reached Redis: it has listened before. */
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

/** Resolves when so many processes of it have ended with this code since then. */
async function untilEnded(container: string, code: number, times: number, since: string): Promise<void> {
  const filters = ["--filter", `container=${container}`, "--filter", "event=die", "--since", since];
  const format = ["--format", "{{.Actor.Attributes.exitCode}}"];
  let ended = 0;
  const events = startProgram("docker", ["events", ...filters, ...format], plainEnvironment());
  await events.line((line) => line === String(code) && ++ended === times);
}

/** A copy of the folder, with its secrets made, and Compose in it; the proxies at ports that are free on this machine. */
function openCompose([first, second]: readonly [number, number]) {
  const copy = emptyFolder();
  cpSync("deploy", copy, { recursive: true, filter: (path) => !/\/compose\/(secrets|\.env)$/.test(path) });
  const folder = join(copy, "compose");
  const env = { ...process.env, COUNTERSIGN_VERSION: tag, REDIS_IMAGE: findRedis() };
  execFileSync(join(folder, "secrets.sh"), { env });
  // Compose 1 knows no name in the file.
  const input = readFileSync(join(folder, "compose.yaml"), "utf8")
    .replace(/^name: .*$/m, "")
    .replace("127.0.0.1:7411:", `127.0.0.1:${first}:`)
    .replace("127.0.0.1:7511:", `127.0.0.1:${second}:`);
  const [command = "", ...args] = compose ?? [];
  const options = ["--file", "-", "--project-name", project];
  const run = (...more: string[]) =>
    execFileSync(command, [...args, ...options, ...more], {
      cwd: folder,
      input,
      env,
      encoding: "utf8",
      stdio: ["pipe", "pipe", "pipe"],
    });
  onTestFinished(() => void run("down", "--volumes"));
  run("config", "--quiet");
  const configuration = join(folder, "countersign/countersign.yaml");
  return { run, configuration, container: (service: string) => run("ps", "--quiet", service).trim() };
}

/** The image that the file names, or one of this machine's own redis-server. */
function findRedis(): string {
  const named = "redis:7-alpine";
  if (docker("image", "inspect", named).exitCode === 0 || docker("pull", "--quiet", named).exitCode === 0) return named;
  return execFileSync("scripts/redis-image.sh", ["countersign-test-redis:compose"], { encoding: "utf8" }).trim();
}
