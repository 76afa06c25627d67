/**
 * docs/kubernetes.md, "By a label", for many workloads that order all the time, while their sidecar is added, upgraded and removed, and
 * while the API server is killed.
 */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { stringify } from "yaml";
import { parse } from "../kubernetes/manifests.ts";
import { block, commandsBelow } from "../kubernetes/page.ts";
import { type Noted, podsOf, statesOf } from "./pods.ts";
import { Reader } from "./reader.ts";

// As many as two busy processors can run.
const images = 10;
const forms = 4;
const deployments = 16;
const jobs = 5;
const cronJobs = 3;

const reader = new Reader("fleet");
const [install = "", secrets = ""] = commandsBelow("2. By a label");
const [ofPage] = parse(block("label"));
const { labels } = ofPage.metadata;
const securityContext = {
  ...{ runAsNonRoot: true, allowPrivilegeEscalation: false },
  ...{ capabilities: { drop: ["ALL"] }, seccompProfile: { type: "RuntimeDefault" } },
};
const rolledOut = "kubectl rollout status deployment --timeout=280s";
const complete = "kubectl wait --for=condition=Complete job --all --timeout=200s";

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

beforeAll(() => {
  const configuration = block("countersign")
    .replace("https://api.sandbox.example/", "http://service.fleet.svc:7421/")
    .replace("https://login.sandbox.example", "http://service.fleet.svc:7422")
    .replace("    operations:", "    allowPlaintext: true\n    operations:");
  const files = many(images, (n) => [`shop-${n}/Dockerfile`, dockerfile(n)]);
  reader.write({ "countersign.yaml": configuration, ...Object.fromEntries(files) });
  reader.type(
    "for name in shop-*; do",
    "docker build --quiet --tag REGISTRY/$name:1 $name && docker push --quiet REGISTRY/$name:1",
    "done",
    // The requests of all sidecars have room on one node.
    `${install.trimEnd()} --set resources.requests.cpu=10m`,
    secrets,
  );
  reader.apply(...service());
  reader.type("kubectl wait --for=condition=Ready pod/service --timeout=120s");
});

afterAll(() => {
  reader.type("kubectl delete namespace fleet --wait=false");
});

it("each pod of a Deployment gets the sidecar", () => {
  rollOut(labels);
  expect(sidecars()).toEqual(Array(deployments).fill({ version: "0.1.0", ready: true, restarts: 0 }));
});

it("each pod of a Job or CronJob ends, and its sidecar with it", () => {
  reader.apply(...many(jobs, job), ...many(cronJobs, cronJob));
  reader.type("kubectl wait --for=jsonpath='{.status.lastSuccessfulTime}' cronjob --all --timeout=200s", complete);
  const ended = podsOf(reader, "kind=job").filter(({ status }) => status.phase === "Succeeded");
  expect(ended.length).toBeGreaterThanOrEqual(jobs + cronJobs);
  const codes = ended.map((pod) => statesOf(pod)["countersign"].state.terminated.exitCode);
  expect(codes).toEqual(codes.map(() => 0));
});

it("the namespace admits only pods of the level `restricted`", () => {
  expect(reader.try("kubectl run plain --image REGISTRY/orders:1").output).toContain(
    'violates PodSecurity "restricted',
  );
});

it("an upgrade replaces each sidecar, although the API server is killed meanwhile", () => {
  const next = "REGISTRY/countersign:0.2.0";
  const { metadata, spec } = template(0, "pod", labels);
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { ...metadata, name: "pod" }, spec };
  reader.write({ "pod.yaml": stringify(pod) });
  const wouldGet = `kubectl create --filename pod.yaml --dry-run=server --output yaml | grep --quiet ${next}`;
  reader.type(
    `docker build --quiet --target proxy --build-arg VERSION=0.2.0 --tag ${next} ${process.cwd()}`,
    `docker push --quiet ${next}`,
    "helm upgrade countersign helm/countersign --namespace countersign --reuse-values --set image.tag=0.2.0",
    `timeout 60 sh -c 'until ${wouldGet}; do sleep 0.1; done'`,
    `for form in $(seq 0 ${forms - 1}); do`,
    "kubectl rollout restart deployment --selector form=$form",
    "kill -KILL $(pidof kube-apiserver)",
    "timeout 120 sh -c 'until kubectl get --raw /readyz; do sleep 1; done'",
    rolledOut,
    "done",
  );
  expect(sidecars()).toEqual(Array(deployments).fill({ version: "0.2.0", ready: true, restarts: 0 }));
});

it("without the label a new pod gets no sidecar, and the release leaves nothing behind", () => {
  reader.type("kubectl delete cronjob --all --cascade=orphan", complete);
  rollOut({});
  reader.type(
    "kubectl wait --for=delete pod --selector countersign.io/inject,kind=deployment --timeout=120s",
    "helm uninstall countersign --namespace countersign",
  );
  expect(sidecars()).toEqual(Array(deployments).fill(undefined));
  const policies = reader.get("mutatingadmissionpolicies,validatingadmissionpolicies").items;
  expect(policies).toEqual([]);
});

it("no order was lost, and none was sent twice", () => {
  const { podIP } = reader.get("pod/service").status;
  const ask = (what: string) => JSON.parse(reader.type(`curl --silent --fail http://${podIP}:${what}`));
  const without = new Set(podsOf(reader, "kind=deployment").map(({ metadata }) => metadata.name));
  const notes = (ask("8080") as Noted[]).filter(({ pod }) => !without.has(pod));
  expect(notes.filter(({ status, outcome }) => status !== 200 || outcome !== "answered")).toEqual([]);
  const { apiRequests, accepted } = ask("7421/simulator");
  expect({ apiRequests, accepted }).toEqual({ apiRequests: notes.length, accepted: notes.length });
  const ordered = (wanted: Noted["when"]) => notes.filter(({ when }) => when === wanted).length;
  // A controller whose request's answer was lost with the API server may have made a pod too many.
  expect(ordered("start")).toBeGreaterThanOrEqual(2 * deployments);
  expect(ordered("end")).toBe(ordered("start"));
});

function many<T>(count: number, make: (n: number) => T): T[] {
  return Array.from({ length: count }, (_, n) => make(n));
}

/** Applies the Deployments of one form of pods after the other: two processors do not start all at once. */
function rollOut(own: object): void {
  for (let form = 0; form < forms; form++) {
    reader.apply(...many(deployments / forms, (n) => deployment(n * forms + form, own)));
    reader.type(rolledOut);
  }
}

/** The sidecars of the Deployments' pods; undefined for a pod without. */
function sidecars() {
  return podsOf(reader, "kind=deployment").map((pod) => {
    const { countersign } = statesOf(pod);
    if (countersign === undefined) return undefined;
    const { image, ready, restartCount } = countersign;
    return { version: image.split(":").at(-1), ready, restarts: restartCount };
  });
}

/** Images of the shop's application: on two bases, each with a user, a folder, a port and a start of its own. */
function dockerfile(n: number): string {
  const home = `/srv/shop-${n}`;
  const shell = ["/bin/sh", "-c", 'exec node orders.mjs "$@"', "sh"];
  const [base, start] =
    n % 2 === 0 ? ["REGISTRY/orders:1", ["/usr/local/bin/node", "orders.mjs"]] : ["node:24-trixie", shell];
  return `FROM ${base}
COPY --from=REGISTRY/orders:1 /app/orders.mjs ${home}/
WORKDIR ${home}
USER ${10_000 + n}:${20_000 + n}
EXPOSE ${8080 + n}
ENTRYPOINT ${JSON.stringify(start)}
CMD []
`;
}

function template(n: number, kind: string, own: object, args: readonly string[] = []) {
  const env = [...ofPage.spec.containers[0].env, { name: "NOTES", value: "http://service.fleet.svc:8080" }];
  const container = { name: "shop", image: `REGISTRY/shop-${n % images}:1`, args, env, securityContext };
  const form = [
    {},
    { securityContext: { runAsUser: 30_000, fsGroup: 30_001 }, volumes: [{ name: "scratch", emptyDir: {} }] },
    { shareProcessNamespace: true, automountServiceAccountToken: false },
    { terminationGracePeriodSeconds: 5, hostAliases: [{ ip: "127.0.0.1", hostnames: ["shop.example"] }] },
  ][n % forms];
  const metadata = { labels: { ...own, kind, app: `${kind}-${n}` } };
  return { metadata, spec: { containers: [container], ...form } };
}

function deployment(n: number, own: object) {
  const metadata = { name: `shop-${n}`, labels: { form: `${n % forms}` } };
  const selector = { matchLabels: { app: `deployment-${n}` } };
  return {
    ...{ apiVersion: "apps/v1", kind: "Deployment", metadata },
    spec: { selector, template: template(n, "deployment", own) },
  };
}

function job(n: number) {
  const { metadata, spec } = template(n, "job", labels, ["once"]);
  return {
    ...{ apiVersion: "batch/v1", kind: "Job", metadata: { name: `import-${n}` } },
    spec: { backoffLimit: 0, template: { metadata, spec: { ...spec, restartPolicy: "Never" } } },
  };
}

function cronJob(n: number) {
  return {
    ...{ apiVersion: "batch/v1", kind: "CronJob", metadata: { name: `settle-${n}` } },
    spec: { schedule: "* * * * *", successfulJobsHistoryLimit: 100, jobTemplate: { spec: job(n).spec } },
  };
}

/** The payment service, and what the applications note. */
function service() {
  const command = ["/usr/local/bin/node", "/app/notes.mjs"];
  // Without this share it would starve beside so many pods, and answer too late.
  const resources = { requests: { cpu: "200m" } };
  const containers = [
    { name: "simulator", image: "REGISTRY/simulator:1", resources, securityContext },
    { name: "notes", image: "REGISTRY/orders:1", command, resources, securityContext },
  ];
  const metadata = { name: "service", labels: { app: "service" } };
  return [
    { apiVersion: "v1", kind: "Pod", metadata, spec: { containers } },
    { apiVersion: "v1", kind: "Service", metadata, spec: { clusterIP: "None", selector: metadata.labels } },
  ];
}
