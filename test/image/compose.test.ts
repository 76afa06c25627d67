/** deploy/compose at work, but for Prometheus and Grafana, whose images may not be had: the README's steps. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { call } from "../../testkit/call.ts";
import { isInstalled } from "../../testkit/run-program.ts";
import { buildImage, docker, followLog, hasDocker, images, mustDocker, tag } from "./docker.ts";

const compose = [["docker", "compose"], ["docker-compose"]].find(([command = "", ...args]) =>
  isInstalled(command, ...args, "version"),
);
const missing = hasDocker ? "Docker Compose" : "Docker";
const name = hasDocker && compose ? "" : `NOT TRIED, ${missing} is not installed: `;
const project = `countersign-test-${process.pid}`;
const buildMs = 300_000;

it.runIf(hasDocker && compose)(
  `${name}two proxies share a token, and serve all of this machine`,
  { timeout: buildMs },
  async () => {
    buildImage("proxy", images.proxy);
    buildImage("simulator", images.simulator);
    const stage = openCompose();
    stage.run("up", "--detach", "--no-build", "redis", "simulator");
    await followLog(stage.container("redis")).line((line) => line.includes("Ready to accept connections"));
    stage.run("up", "--detach", "--no-build", "proxy-1", "proxy-2");
    const proxies = ["proxy-1", "proxy-2"].map(stage.container);
    for (const proxy of proxies) await followLog(proxy).line((line) => line.includes('"event":"redis_up"'));
    for (const port of [7411, 7511]) {
      const { status, headers } = await call(`http://127.0.0.1:${port}`);
      expect([status, headers["countersign-outcome"]]).toEqual([200, "answered"]);
    }
    const count = "fetch('http://simulator:7421/simulator').then((all) => all.text()).then(console.log)";
    const counts = JSON.parse(mustDocker("exec", proxies[0] ?? "", "node", "-e", count));
    expect(counts).toMatchObject({ accepted: 2, tokensIssued: 1 });
    expect(docker("exec", proxies[1] ?? "", "countersign", "doctor")).toMatchObject({ exitCode: 0, stderr: "" });
    stage.run("stop");
    expect(proxies.map((proxy) => mustDocker("inspect", proxy, "--format", "{{.State.ExitCode}}"))).toEqual(["0", "0"]);
  },
);

/** A copy of the folder, with its secrets made, and Compose in it. */
function openCompose() {
  const copy = mkdtempSync(join(tmpdir(), "countersign-compose-"));
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  cpSync("deploy", copy, { recursive: true, filter: (path) => !/\/compose\/(secrets|\.env)$/.test(path) });
  const folder = join(copy, "compose");
  const env = { ...process.env, COUNTERSIGN_VERSION: tag, REDIS_IMAGE: findRedis() };
  execFileSync(join(folder, "secrets.sh"), { env });
  // Compose 1 knows no name in the file.
  const input = readFileSync(join(folder, "compose.yaml"), "utf8").replace(/^name: .*$/m, "");
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
  return { run, container: (service: string) => run("ps", "--quiet", service).trim() };
}

/** The image that the file names, or one of this machine's own redis-server. */
function findRedis(): string {
  const named = "redis:7-alpine";
  if (docker("image", "inspect", named).exitCode === 0 || docker("pull", "--quiet", named).exitCode === 0) return named;
  return execFileSync("scripts/redis-image.sh", ["countersign-test-redis:compose"], { encoding: "utf8" }).trim();
}
