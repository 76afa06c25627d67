import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse, parseAllDocuments, stringify, type YAMLMap } from "yaml";
import { version } from "../../../src/version.ts";
import { application, classic, deployment, run } from "./inject-run.ts";

// `countersign inject` as people and pipelines meet it. test/platform/kubernetes shows that a cluster takes what it makes.

const workloads = "test/platform/kubernetes/workloads/orders.yaml";
const original = readFileSync(workloads, "utf8");

function inject(manifest: string, ...args: string[]): string {
  const { exitCode, stdout, stderr } = run(["-f", "-", ...args], manifest);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return stdout;
}

const template = ["spec", "template", "spec"];

/** The pod's spec of each workload, by its name. */
// biome-ignore lint/suspicious/noExplicitAny: a manifest is what it is
function podSpecs(manifest: string): Record<string, any> {
  const documents = parseAllDocuments(manifest, { version: "1.1" });
  const workloadsOnly = documents.filter((document) => document.get("kind") !== "Service");
  return Object.fromEntries(
    workloadsOnly.map((document) => {
      const path = document.get("kind") === "CronJob" ? ["spec", "jobTemplate", ...template] : template;
      return [document.getIn(["metadata", "name"]), (document.getIn(path) as YAMLMap).toJSON()];
    }),
  );
}

const names = (list: readonly { name: string }[] = []) => list.map(({ name }) => name);

/** The same as many people write it. */
const flat = (podSpec: string) => {
  const lists = `${podSpec.replaceAll("\n  ", "\n")}  args: ["--all", {a: b}]`;
  return deployment(lists).replace("{ name: orders }", "{name: orders}");
};

describe("a native sidecar", () => {
  const specs = podSpecs(inject(original));

  it("comes before the init containers of every kind of workload", () => {
    expect(Object.keys(specs)).toEqual(["orders", "ledger", "settle", "import", "tills"]);
    expect(Object.values(specs).map(({ initContainers }) => names(initContainers))).toEqual([
      ["countersign"],
      ["countersign", "migrate"],
      ["countersign"],
      ["countersign"],
      ["countersign"],
    ]);
    expect(specs["orders"].initContainers[0]).toMatchObject({
      image: `countersign:${version}`,
      restartPolicy: "Always",
    });
  });

  it("has its time beside the application's", () => {
    const seconds = Object.values(specs).map(({ terminationGracePeriodSeconds }) => terminationGracePeriodSeconds);
    expect(seconds).toEqual([57, 47, 57, 57, 57]);
  });

  it("leaves the application as it is", () => {
    const before = podSpecs(original);
    for (const [name, spec] of Object.entries(specs)) {
      expect(spec.containers).toEqual(before[name].containers);
      const others = (each: { name: string }) => !each.name.startsWith("countersign");
      expect(spec.volumes.filter(others)).toEqual(before[name].volumes ?? []);
    }
  });
});

it("takes no line away but the grace period's; inside of braces spaces may differ", () => {
  const after = inject(original).split("\n");
  const plain = (line: string) => line.replaceAll(" ", "");
  const lost = original.split("\n").filter((line) => !after.map(plain).includes(plain(line)));
  expect(lost).toEqual(["      terminationGracePeriodSeconds: 20 # less than the default"]);
  expect(after).toContain("      terminationGracePeriodSeconds: 47 # less than the default");
  expect(after).toContain("metadata: {name: orders}   # not a workload: stays to the byte");
});

it("keeps the style of a manifest", () => {
  const manifest = flat(application);
  const after = inject(manifest).split("\n");
  expect(after.filter((line) => manifest.split("\n").includes(line)).join("\n")).toBe(manifest);
});

it.each([
  { style: "lists that are not indented", manifest: flat(application) },
  { style: "JSON", manifest: JSON.stringify(parseAllDocuments(deployment(application))[0]) },
  { style: "no sidecar's list or an empty one", manifest: deployment(`initContainers: []\nvolumes:\n${application}`) },
])("a second run changes nothing: $style", ({ manifest }) => {
  for (const args of [[], classic, ["--env", "BASE_URL"]]) {
    if (args[0] === "--classic" && manifest.includes("Job")) continue;
    const once = inject(manifest, ...args);
    expect(inject(once, ...args)).toBe(once);
  }
});

it("JSON that has its sidecar already stays to the byte", () => {
  const json = JSON.stringify(parse(inject(deployment(application)), { schema: "failsafe" }));
  expect(inject(json)).toBe(json);
});

it.each([
  ["a key behind its volumes", (once: string) => `${once.trimEnd()}\n      dnsPolicy: Default\n`],
  [
    "a comment above its volumes",
    (once: string) => once.replace(/^( *)volumes:/m, "$1# secrets come from elsewhere\n$&"),
  ],
])("a second run leaves %s where it is", (_, edit) => {
  const edited = edit(inject(deployment("containers:\n  - name: orders\n    image: orders\n")));
  expect(inject(edited)).toBe(edited);
});

it("a run with other options replaces what the first has added", () => {
  const manifest = deployment(application);
  const options = ["--image", "registry.example/countersign:2", "--config-map", "config", "--secret", "keys"];
  expect(inject(inject(manifest), ...options)).toBe(inject(manifest, ...options));
  const { orders } = podSpecs(inject(inject(manifest), ...classic));
  expect([names(orders.initContainers), names(orders.containers)]).toEqual([[], ["orders", "countersign"]]);
  expect(orders.containers[1].restartPolicy).toBeUndefined();
  expect(orders.terminationGracePeriodSeconds).toBe(62);
});

it("takes image, ConfigMap and Secret by name", () => {
  const args = ["--image", "registry.example/countersign@sha256:00ff", "--config-map", "config", "--secret", "keys"];
  const { orders } = podSpecs(inject(deployment(application), ...args));
  expect(orders.initContainers[0].image).toBe("registry.example/countersign@sha256:00ff");
  expect(orders.volumes).toEqual([
    { name: "countersign-config", configMap: { name: "config" } },
    { name: "countersign-secrets", secret: { secretName: "keys", defaultMode: 0o440 } },
  ]);
});

describe("the grace period", () => {
  const graceSeconds = (podSpec: string, ...args: string[]) => {
    return podSpecs(inject(deployment(podSpec), ...args))["orders"].terminationGracePeriodSeconds;
  };

  it("has the times of the configuration beside the application's", () => {
    expect(graceSeconds(application)).toBe(30 + 20 + 2 + 5);
    expect(graceSeconds(application, "--config", "test/promises/cli/drains.yaml")).toBe(30 + 25 + 30 + 2 + 5);
    expect(graceSeconds(application, ...classic)).toBe(30 + 25 + 30 + 2 + 5);
    expect(graceSeconds(`terminationGracePeriodSeconds: 5\n${application}`, ...classic)).toBe(5 + 25 + 30 + 2 + 5);
  });

  it("is never shorter than a classic sidecar takes that replaces another one", () => {
    const before = inject(deployment(`terminationGracePeriodSeconds: 5\n${application}`));
    expect(podSpecs(before)["orders"].terminationGracePeriodSeconds).toBe(5 + 27);
    expect(podSpecs(inject(before, ...classic))["orders"].terminationGracePeriodSeconds).toBe(25 + 30 + 2 + 5);
  });
});

it("refuses a classic sidecar without drain.minSeconds, and says what it needs", () => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-inject-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "countersign.yaml");
  const refused = (...args: string[]) => {
    const { exitCode, stdout, stderr } = run(["-f", "-", "--classic", ...args], deployment(application));
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    return stderr;
  };
  const needs = `--classic: both containers get SIGTERM at once. Name countersign.yaml with --config, and set drain.minSeconds
in it to the seconds for which the application still calls.`;
  expect(refused()).toBe(`${needs}\n\nNothing was injected.\n`);
  expect(run(["--help"]).stdout).toContain(needs);
  for (const text of ["", "drain: {}", "drain: { minSeconds: 0 }", "timeouts: { request: 1s }"]) {
    writeFileSync(file, text);
    expect(refused("--config", file), text).toContain(needs);
  }
  for (const text of ["drain: { minSeconds: -1 }", "drain: { minSeconds: soon }", "drain: {", "timeouts: 1s"]) {
    writeFileSync(file, text);
    expect(refused("--config", file), text).toContain(`${file}: drain and timeouts cannot be read`);
  }
  expect(refused("--config", join(folder, "nothing"))).toContain("nothing cannot be read (ENOENT)");
});

it("reaches the workloads of a List, as kubectl prints them, and leaves its other items", () => {
  const items = parseAllDocuments(original).map((document) => document.toJS());
  const list = stringify({ apiVersion: "v1", kind: "List", items });
  const alone = inject(items.map((item) => stringify(item)).join("---\n"));
  expect(parse(inject(list)).items).toEqual(parseAllDocuments(alone).map((document) => document.toJS()));
});

it("sets the application's variable only where it is asked to", () => {
  const { ledger } = podSpecs(inject(original, "--env", "BASE_URL"));
  expect(ledger.containers[0].env).toEqual([{ name: "BASE_URL", value: "http://127.0.0.1:7411" }]);
});

it("sets it in init containers too, which a classic sidecar would come after", () => {
  const manifest = deployment(`initContainers: [{ name: migrate }]\n${application}`);
  const native = podSpecs(inject(manifest, "--env", "BASE_URL"))["orders"].initContainers;
  const set = [{ name: "BASE_URL", value: "http://127.0.0.1:7411" }];
  expect(names(native)).toEqual(["countersign", "migrate"]);
  expect(native.map(({ env }: { env?: unknown }) => env)).toEqual([undefined, set]);
  const { orders } = podSpecs(inject(manifest, "--env", "BASE_URL", ...classic));
  expect(orders.initContainers).toEqual([{ name: "migrate" }]);
});

describe("the application's variable", () => {
  const variables = (env: string, ...args: string[]) => {
    const manifest = deployment(`${application}    env:\n      ${env}\n`);
    return podSpecs(inject(manifest, "--env", "BASE_URL", ...args))["orders"].containers[0].env;
  };
  const set = { name: "BASE_URL", value: "http://127.0.0.1:7411" };
  const user = { name: "ORDERS_URL", value: "$(BASE_URL)/create_order" };

  it("comes first, before those that are made from it", () => {
    expect(variables(`- ${JSON.stringify(user)}`)).toEqual([set, user]);
  });

  it("keeps its place, behind those that it may be made from and before those that are made from it", () => {
    const own = [
      { name: "A", value: "a" },
      { name: "BASE_URL", valueFrom: { fieldRef: { fieldPath: "status.hostIP" } } },
      user,
    ];
    expect(variables(own.map((each) => `- ${JSON.stringify(each)}`).join("\n      "))).toEqual([own[0], set, user]);
  });

  it("keeps its comment", () => {
    const env = "# where orders go\n      - name: BASE_URL\n        value: http://old # for now";
    const after = inject(deployment(`${application}    env:\n      ${env}\n`), "--env", "BASE_URL");
    expect(after).toContain(
      "# where orders go\n            - name: BASE_URL\n              value: http://127.0.0.1:7411 # for now\n",
    );
  });
});

it("keeps numbers and words as Kubernetes reads them", () => {
  const odd = `${application}    env: [{ name: A, value: "on" }, { name: B, value: '1.10' }]\nvolumes:\n  - { name: a, secret: { secretName: a, defaultMode: 0644 } }\nhostPID: off\n`;
  const { orders } = podSpecs(inject(deployment(odd)));
  expect(orders.volumes[0].secret.defaultMode).toBe(0o644);
  expect(orders.containers[0].env.map(({ value }: { value: unknown }) => value)).toEqual(["on", "1.10"]);
  expect(orders.hostPID).toBe(false);
});
