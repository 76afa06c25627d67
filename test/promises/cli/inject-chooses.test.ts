import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import { run } from "./inject-run.ts";

// Which objects of a manifest get the sidecar; what does not stays to the byte.

// biome-ignore lint/suspicious/noExplicitAny: a manifest is what it is
type Manifest = any;

const pod = (extra = {}) => ({ ...extra, containers: [{ name: "app", image: "app:1" }] });
const workload = (name: string, metadata = {}, podMetadata = {}): Manifest => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, ...metadata },
  spec: { template: { metadata: podMetadata, spec: pod() } },
});

function inject(objects: readonly Manifest[], ...args: string[]): string {
  const manifest = objects.map((object) => stringify(object)).join("---\n");
  const { exitCode, stdout, stderr } = run(["-f", "-", ...args], manifest);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return stdout;
}

/** The names of those that have a sidecar now. */
function served(manifest: string): string[] {
  const objects = parseAllDocuments(manifest).map((document) => document.toJS());
  const hasSidecar = ({ spec }: Manifest) => {
    return (spec.template?.spec ?? spec).initContainers?.some(({ name }: Manifest) => name === "countersign");
  };
  return objects.filter(hasSidecar).map(({ metadata }) => metadata.name);
}

describe("--selector chooses by the workload's own labels, as kubectl does", () => {
  const objects = [
    workload("a", { labels: { app: "orders", tier: "back" } }),
    workload("b", { labels: { app: "ledger" } }),
    workload("c", { labels: { app: "shop", "team.example/name": "" } }, { labels: { app: "orders" } }),
    workload("d"),
  ];

  it.each([
    { selector: "app=orders", names: ["a"] },
    { selector: "app == orders", names: ["a"] },
    { selector: "app!=orders", names: ["b", "c", "d"] },
    { selector: "app in (orders, ledger)", names: ["a", "b"] },
    { selector: "app notin (orders,ledger)", names: ["c", "d"] },
    { selector: "app notin (orders,ledger),app", names: ["c"] },
    { selector: "tier", names: ["a"] },
    { selector: "!tier", names: ["b", "c", "d"] },
    { selector: "app,!tier,app!=shop", names: ["b"] },
    { selector: "team.example/name=", names: ["c"] },
    { selector: "!toString", names: ["a", "b", "c", "d"] },
  ])("$selector", ({ selector, names }) => {
    const injected = inject(objects, "--selector", selector);
    expect(served(injected)).toEqual(names);
    for (const object of objects) {
      if (!names.includes(object.metadata.name)) expect(injected).toContain(stringify(object));
    }
  });

  it("also where the labels are an alias", () => {
    const text = stringify(workload("a")).replace("name: a\n", "name: a\n  labels: *labels\n");
    const { stdout } = run(["-f", "-", "-l", "app=orders"], `x-labels: &labels { app: orders }\n${text}`);
    expect(served(stdout)).toEqual(["a"]);
  });
});

describe("countersign.dev/inject", () => {
  const no = { annotations: { "countersign.dev/inject": "false" } };
  const yes = { annotations: { "countersign.dev/inject": "true" } };

  it("false leaves a workload alone, whether it or its pods say so", () => {
    const objects = [
      workload("a"),
      workload("b", no),
      workload("c", {}, no),
      workload("d", yes),
      workload("e", yes, no),
    ];
    const injected = inject(objects);
    expect(served(injected)).toEqual(["a", "d"]);
    for (const index of [1, 2, 4]) expect(injected).toContain(stringify(objects[index]));
  });

  it("false keeps what another run has added", () => {
    const once = parse(inject([workload("a")]));
    const { exitCode, stderr } = run(["-f", "-"], stringify({ ...once, metadata: { name: "a", ...no } }));
    expect(exitCode).toBe(2);
    expect(stderr).toContain("there is none of Deployment");
  });

  it("is read with and without quotes", () => {
    const plain = stringify(workload("b", no)).replace('"false"', "false");
    expect(served(run(["-f", "-"], `${plain}---\n${stringify(workload("a"))}`).stdout)).toEqual(["a"]);
  });
});

describe("Pods", () => {
  const bare = { apiVersion: "v1", kind: "Pod", metadata: { name: "once" }, spec: pod({ restartPolicy: "Never" }) };

  it("without a workload get the sidecar, with its volumes and its time", () => {
    const { spec } = parse(inject([bare], "--env", "BASE_URL"));
    expect(spec.initContainers).toMatchObject([{ name: "countersign", restartPolicy: "Always" }]);
    expect(spec.volumes).toHaveLength(2);
    expect(spec).toMatchObject({ restartPolicy: "Never", terminationGracePeriodSeconds: 57 });
    expect(spec.containers[0].env).toEqual([{ name: "BASE_URL", value: "http://127.0.0.1:7411" }]);
  });

  it("that another workload has made are left to it, and so are the Jobs of a CronJob", () => {
    const madeBy = (kind: string) => ({ ownerReferences: [{ kind, name: "owner" }] });
    const made = [
      { ...bare, metadata: { name: "of-replica-set", ...madeBy("ReplicaSet") } },
      { ...workload("of-cron-job", madeBy("CronJob")), kind: "Job" },
    ];
    const injected = inject([...made, workload("of-an-operator", madeBy("Shop")), bare]);
    expect(served(injected)).toEqual(["of-an-operator", "once"]);
  });
});

describe("lists", () => {
  const { apiVersion: _, kind: _kind, ...item } = workload("a");

  it.each([
    { kind: "DeploymentList", items: [item, { ...item, metadata: { name: "b" } }] },
    { kind: "List", items: [workload("a"), { kind: "Service" }, workload("b")] },
    { kind: "List", items: [{ kind: "DeploymentList", items: [item] }, workload("b")] },
  ])("$kind: each item gets it, also where the list alone says what it is", ({ kind, items }) => {
    const list = { apiVersion: "v1", kind, items };
    const { items: injected } = parse(inject([list]));
    const flat = injected.flatMap((each: Manifest) => each.items ?? each);
    const [a, b = a] = flat.filter(({ spec }: Manifest) => spec !== undefined);
    for (const { spec } of [a, b]) expect(spec.template.spec.initContainers[0].name).toBe("countersign");
  });

  it("of the raw API come in JSON, and what comes out of them is YAML again and again the same", () => {
    const raw = JSON.stringify({
      kind: "PodList",
      apiVersion: "v1",
      items: [{ metadata: { name: "p" }, spec: pod() }],
    });
    const once = run(["-f", "-"], raw).stdout;
    expect(parse(once).items[0].spec.initContainers[0].name).toBe("countersign");
    expect(run(["-f", "-"], once).stdout).toBe(once);
  });

  it("name what they refuse", () => {
    const list = { kind: "JobList", items: [{ metadata: { name: "j" }, spec: {} }] };
    expect(run(["-f", "-"], stringify(list)).stderr).toContain("Job j has no spec.template.spec");
  });
});
