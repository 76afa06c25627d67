/** The images are built from the Dockerfile, and run as on the strictest platforms. */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { exampleSites } from "../../../simulator/src/example-sites.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { plainEnvironment, startProgram } from "../../../testkit/run-program.ts";
import {
  buildImage,
  docker,
  followLog,
  hasDocker,
  images,
  listFiles,
  locked,
  mustDocker,
  startContainer,
  untilHealthy,
} from "./docker.ts";

const name = hasDocker ? "the images" : "NOT TRIED, no Docker engine answers: the images";
const buildMs = 300_000;
const { proxy, simulator } = images;
const billSchema = new Validation.JsonStrictValidator(Spec.Version.v1dot5);
const again = `${proxy}-again`;
const { version } = JSON.parse(readFileSync("package.json", "utf8"));

describe.runIf(hasDocker)(name, () => {
  beforeAll(() => {
    buildImage("proxy", proxy);
    buildImage("simulator", simulator);
  }, buildMs);

  it.each([proxy, simulator])(
    "hold no shell, no package manager, and no setuid or world-writable file: %s",
    (image) => {
      const files = listFiles(image);
      expect(files).toContainEqual(expect.stringMatching(/^-rwxr-xr-x 0\/0 .* usr\/local\/bin\/node$/));
      const programs = /\/(sh|bash|dash|ash|busybox|env|npm|npx|corepack|yarn|pnpm|apt|apt-get|dpkg|apk)( -> .*)?$/;
      const forDevelopers = /node_modules\/(typescript|vitest|tsx|@biomejs)\//;
      const lendsRights = /^-.{2}[sS]|^-.{5}[sS]/;
      const writableForAll = /^[-d].{7}w(?!.* (var\/lock|(var\/)?tmp)\/$)/;
      for (const forbidden of [programs, forDevelopers, lendsRights, writableForAll]) {
        expect(files.filter((line) => forbidden.test(line))).toEqual([]);
      }
      const simulated = files.filter((line) => /app\/dist\/bundled\/(simulate|demo)-\w+\.js$/.test(line));
      expect(simulated.length > 0).toBe(image === simulator);
      const bytes = mustDocker("image", "inspect", image, "--format", "{{.Size}}");
      process.stdout.write(`size of ${image}: ${Math.round(Number(bytes) / 1e6)} MB\n`);
    },
  );

  // test/docs/dependencies-doc.test.ts checks the content of npm's bill of materials.
  it.each([proxy, simulator])("have a bill of materials at the path in the label: %s", async (image) => {
    const path = mustDocker("image", "inspect", image, "--format", '{{index .Config.Labels "dev.countersign.sbom"}}');
    const copy = join(emptyFolder(), "copy");
    const id = mustDocker("create", image);
    onTestFinished(() => void mustDocker("rm", id));
    mustDocker("cp", `${id}:${path}`, copy);
    const text = readFileSync(copy, "utf8");
    expect(await billSchema.validate(text)).toBeNull();
    expect(JSON.parse(text).components.length).toBeGreaterThan(20);
  });

  it("have labels and a configuration that say what they are and how they are run", () => {
    const [{ Config: config }] = JSON.parse(mustDocker("image", "inspect", proxy));
    expect(config).toMatchObject({
      User: "65532:65532",
      Entrypoint: [
        "/usr/local/bin/node",
        "--max-old-space-size-percentage=50",
        "--max-semi-space-size=4",
        "/app/dist/main.js",
      ],
      Cmd: ["serve"],
      Healthcheck: { Test: ["CMD", "healthcheck", "/livez"] },
      Env: expect.arrayContaining([
        "COUNTERSIGN_CONFIG=/etc/countersign/countersign.yaml",
        "HEALTHCHECK_ADDRESS=127.0.0.1:7412",
        "UV_THREADPOOL_SIZE=16",
        "MALLOC_ARENA_MAX=2",
      ]),
      Labels: {
        "org.opencontainers.image.title": "countersign",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.revision": expect.stringMatching(/^([0-9a-f]{40}|unknown)$/),
        "org.opencontainers.image.base.name": expect.stringMatching(/./),
      },
    });
    // For a build without the script.
    expect(readFileSync("Dockerfile", "utf8")).toContain(`\nARG VERSION=${version}\n`);
  });

  it("are made of the same layers when they are built anew", { timeout: buildMs }, () => {
    buildImage("proxy", again, "--no-cache");
    onTestFinished(() => void docker("image", "rm", again));
    const [first, second] = [proxy, again].map((image) => JSON.parse(mustDocker("image", "inspect", image))[0]);
    expect(second.RootFS.Layers).toEqual(first.RootFS.Layers);
    expect(second.Created).not.toBe(first.Created);
  });

  it("work for any user, and say where to get the commands that are left out", () => {
    const run = (...args: string[]) => docker("run", "--rm", ...locked, "--user", "1000650000:0", proxy, ...args);
    expect(run("--version")).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: "" });
    const help = run("--help").stdout.replace(/\s+/g, " ");
    expect(help).toMatch(
      / simulate \S+ Left out here: the npm package countersign and the image countersign-simulator have it\. /,
    );
    for (const command of ["simulate", "demo"]) {
      const says = expect.stringMatching(`^countersign ${command} is left out here.* countersign-simulator .*\n$`);
      expect(run(command, "--once", "more")).toEqual({ exitCode: 2, stdout: "", stderr: says });
    }
  });

  it("serve, read-only and without rights, report their health, and end with 0 on SIGTERM", async () => {
    const { serve, service, log } = await openStage();
    const exec = (...args: string[]) => docker("exec", serve, ...args);
    // An application in the same pod is another container with the same loopback.
    const inPod = ["run", "--rm", ...locked, "--network", `container:${serve}`, "--entrypoint", "node", proxy];
    const placing = [...inPod, "-e", placeOrder];
    const atService = (program: string) => mustDocker("exec", service, "node", "-e", program);
    const rights = /^Uid:\t65532\t65532\t[\s\S]*^Gid:\t65532\t65532\t[\s\S]*^CapBnd:\t0+$[\s\S]*^NoNewPrivs:\t1$/m;
    expect(exec("node", "-e", showRights).stdout).toMatch(rights);
    expect(exec("sh", "-c", "true").exitCode).not.toBe(0);
    expect(exec("node", "-e", write).stderr).toContain("EROFS");

    expect(docker(...placing)).toEqual({ exitCode: 0, stdout: "200 answered\n", stderr: "" });
    expect(exec("healthcheck", "/livez")).toEqual({
      exitCode: 0,
      stdout: "/livez at 127.0.0.1:7412: 200\n",
      stderr: "",
    });
    expect(exec("countersign", "health")).toEqual({ exitCode: 0, stdout: "/livez at :7412: 200 ok\n", stderr: "" });
    const doctor = exec("countersign", "doctor");
    expect(doctor.stdout).toMatch(/^ok {4}serve .*: runs with this configuration .*, and is ready/m);
    expect(doctor.exitCode).toBe(0);
    await untilHealthy(serve);
    const [check] = JSON.parse(mustDocker("inspect", serve, "--format", "{{json .State.Health.Log}}"));
    expect(check).toMatchObject({ ExitCode: 0, Output: "/livez at 127.0.0.1:7412: 200\n" });

    atService(hang);
    const late = startProgram("docker", placing, plainEnvironment());
    atService(untilOneHangs);
    mustDocker("kill", "--signal", "TERM", serve);
    await log.line((line) => line.includes('"event":"draining"'));
    atService(release);
    expect(await late.ended).toBe(0);
    expect(late.stdout()).toBe("200 answered\n");
    expect(mustDocker("wait", serve)).toBe("0");
    expect(await log.ended).toBe(0);
    const written = log.stdout().trim().split("\n");
    const lines = written.map((line) => JSON.parse(line));
    const unexpected = lines.filter(({ level, message }) => level !== "info" && !/everyone may read/.test(message));
    expect(unexpected.filter(({ message }) => !/without TLS/.test(message))).toEqual([]);
    expect(lines.at(-1)).toMatchObject({ event: "stopped", drained: true });
    expect(log.stderr()).toBe("");
  });

  it("end on SIGTERM while they start, though the kernel drops signals for which PID 1 has no handler", async () => {
    const verify = ["verify", "--key-file", "/app/package.json"];
    const id = mustDocker("run", "--detach", "--interactive", ...locked, proxy, ...verify); // waits for its standard input
    onTestFinished(() => void docker("rm", "--force", id));
    const ended = startProgram("docker", ["wait", id], plainEnvironment());
    const asking = setInterval(() => docker("kill", "--signal", "TERM", id), 250);
    onTestFinished(() => clearInterval(asking));
    expect(await ended.line(() => true)).toBe("143");
  });
});

/** A proxy and the simulated service in containers, both running. */
async function openStage() {
  const folder = makeFolder();
  const network = mustDocker("network", "create", `countersign-test-${process.pid}`);
  onTestFinished(() => void docker("network", "rm", network));
  const frequently = ["--network", network, "--health-interval", "1s"];
  const service = startContainer(...frequently, "--network-alias", "simulator", images.simulator);
  await untilHealthy(service);
  const mounts = [`${folder}/configuration:/etc/countersign:ro`, `${folder}/secrets:/run/secrets/countersign:ro`];
  const serve = startContainer(...frequently, ...mounts.flatMap((mount) => ["--volume", mount]), images.proxy);
  const log = followLog(serve);
  await log.line((line) => line.includes('"event":"started"'));
  return { service, serve, log };
}

/** Secrets that only the container's user may read; if we may not change the owner, all may read them, with a warning. */
function makeFolder(): string {
  const folder = emptyFolder();
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, "configuration"));
  copyFileSync("test/platform/image/countersign.yaml", join(folder, "configuration/countersign.yaml"));
  const [set] = exampleSites[0]?.credentials ?? [];
  const isRoot = process.getuid?.() === 0;
  for (const [name, text] of Object.entries({
    "client-id": set?.clientId,
    "client-secret": set?.clientSecret,
    audience: set?.audience,
  })) {
    const file = join(folder, "secrets/blue", name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, String(text), { mode: isRoot ? 0o400 : 0o444 });
  }
  if (isRoot) execFileSync("chown", ["-R", "65532:65532", folder]);
  return folder;
}

// Programs for `node -e` in a container without curl: the requests of an application, or to the simulator's control port.

/** Places an order at the proxy, and prints status and outcome. */
const placeOrder = `
const order = { order_amount: 10, order_currency: "EUR", site_customer_identifier: "customer_1" };
const headers = { "content-type": "application/json" };
fetch("http://127.0.0.1:7411/create_order", { method: "POST", headers, body: JSON.stringify(order) })
  .then((answer) => console.log(answer.status, answer.headers.get("countersign-outcome")));`;

/** Makes the service keep the next order waiting. */
const hang = `
fetch("http://127.0.0.1:7421/simulator/faults", { method: "POST", body: JSON.stringify({ host: "api", kind: "hang" }) })
  .then(({ status }) => console.log(status));`;

/** Ends when an order is waiting. */
const untilOneHangs = `
const look = async () => {
  const waiting = await (await fetch("http://127.0.0.1:7421/simulator/faults")).json();
  if (waiting.length > 0) setTimeout(look, 20);
};
look();`;

/** Lets the waiting order continue. */
const release = `
fetch("http://127.0.0.1:7421/simulator/faults/release", { method: "POST" }).then(({ status }) => console.log(status));`;

/** Prints the kernel's status of the container's main process. */
const showRights = `process.stdout.write(require("fs").readFileSync("/proc/1/status", "utf8"));`;

const write = `require("fs").writeFileSync("/app/new", "");`;
