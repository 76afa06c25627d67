/** docs/kubernetes.md for an application with a Helm chart: its commands are run, and its statements on the result checked. */
import { beforeAll, expect, it } from "vitest";
import { block, commandsBelow } from "../kubernetes/page.ts";
import { eventsOf, firstNote, follow, notesOf, podsOf, processOf, statesOf } from "./pods.ts";
import { Reader } from "./reader.ts";

const reader = new Reader("shop");
const install = "helm upgrade --install shop helm/example-app --values values.yaml --set image=REGISTRY/orders:1";
const shop = "app.kubernetes.io/name=example-app";

beforeAll(() => {
  const [secrets = ""] = commandsBelow("3. By your chart, or a patch");
  reader.type(secrets);
  reader.write({ "values.yaml": block("values") });
  reader.type(
    "helm dependency update helm/example-app",
    install,
    "kubectl rollout status deployment/shop --timeout=180s",
  );
});

it("the namespace admits only pods of the level `restricted`", () => {
  const { exitCode, output } = reader.try("kubectl run plain --image REGISTRY/orders:1");
  expect(exitCode).not.toBe(0);
  expect(output).toContain('violates PodSecurity "restricted:latest"');
});

it("the sidecar listens before the application starts: no first call is lost", async () => {
  const pods = podsOf(reader, shop);
  expect(pods).toHaveLength(2);
  for (const pod of pods) {
    const { countersign, orders } = statesOf(pod);
    expect(countersign.state.running.startedAt <= orders.state.running.startedAt).toBe(true);
    expect(await firstNote(reader, pod, "orders")).toEqual({ when: "start", status: 200, outcome: "answered" });
  }
});

// On a slow machine Redis may answer a new pod too late; the pod then fetches a token of its own.
it("a later pod gets the token that Redis has", { retry: 2 }, () => {
  const rollout = "kubectl rollout status deployment/shop --timeout=180s";
  reader.type("kubectl scale deployment/shop --replicas=3", rollout);
  const newest = podsOf(reader, shop).at(-1).metadata.name;
  const requested = eventsOf(reader, newest, "token_requested");
  reader.type("kubectl scale deployment/shop --replicas=2", rollout);
  expect(requested).toEqual([]);
});

it("the pods of a CronJob end in spite of the sidecar", () => {
  reader.type(
    "kubectl create job settle --from cronjob/shop-settle",
    "kubectl wait --for=condition=Complete job/settle --timeout=120s",
  );
  const [pod] = podsOf(reader, "job-name=settle");
  const { countersign, settle } = statesOf(pod);
  expect([settle.state.terminated.exitCode, countersign.state.terminated.exitCode]).toEqual([0, 0]);
  expect(countersign.state.terminated.finishedAt >= settle.state.terminated.finishedAt).toBe(true);
});

it("the sidecar ends after the application, whose last call is served", async () => {
  const [{ metadata }] = podsOf(reader, shop);
  const [orders, countersign] = ["orders", "countersign"].map((name) => follow(reader, metadata.name, name));
  reader.type(`kubectl delete pod ${metadata.name} --wait=false`);
  await Promise.all([orders?.ended, countersign?.ended]);
  const notes = notesOf(orders?.stdout() ?? "");
  expect(notes.at(-1)).toEqual({ when: "end", status: 200, outcome: "answered" });
  expect(notes.filter(({ status }) => status !== 200)).toEqual([]);
  expect(countersign?.stdout().trimEnd().split("\n").at(-1)).toContain('"event":"stopped"');
  reader.type("kubectl rollout status deployment/shop --timeout=180s");
});

it("the sidecar uses a changed Secret without a restart", async () => {
  const before = podsOf(reader, shop);
  const logs = before.map(({ metadata }) => follow(reader, metadata.name, "countersign"));
  const green = { "client-id": "client-green", "client-secret": "example-client-secret-green" };
  reader.type(`kubectl patch secret countersign-blue --patch '${JSON.stringify({ stringData: green })}'`);
  await Promise.all(logs.map((log) => log.line((line) => line.includes('"event":"config_applied"'))));
  const after = podsOf(reader, shop);
  expect(after.map(({ metadata }) => metadata.uid)).toEqual(before.map(({ metadata }) => metadata.uid));
  expect(after.map((pod) => statesOf(pod)["countersign"].restartCount)).toEqual([0, 0]);
  for (const { metadata } of after) {
    reader.type(`kubectl exec ${metadata.name} --container countersign -- countersign doctor`);
    const notes = notesOf(reader.type(`kubectl logs ${metadata.name} --container orders`));
    expect(notes.filter(({ status }) => status !== 200)).toEqual([]);
  }
});

it("the sidecar alone is restarted when the kernel kills it", () => {
  const [pod] = podsOf(reader, shop);
  const { name } = pod.metadata;
  process.kill(processOf(pod), "SIGKILL");
  reader.type(
    `kubectl wait --for=jsonpath='{.status.initContainerStatuses[0].restartCount}'=1 pod/${name} --timeout=60s`,
    `kubectl wait --for=jsonpath='{.status.initContainerStatuses[0].started}'=true pod/${name} --timeout=60s`,
    `kubectl exec ${name} --container countersign -- countersign doctor`,
  );
  const [after] = podsOf(reader, shop);
  expect([after.metadata.uid, statesOf(after)["orders"].restartCount]).toEqual([pod.metadata.uid, 0]);
});

it("a release with a wrong configuration fails, and no pod gets the configuration", () => {
  const before = podsOf(reader, shop).map(({ metadata }) => metadata.uid);
  const absent =
    "countersign.config.environments.sandbox.sites.S1000000001.credentials[0].dir=/run/secrets/countersign/absent";
  const { exitCode, output } = reader.try(`${install} --set ${absent}`);
  expect(exitCode).not.toBe(0);
  expect(output).toContain("/run/secrets/countersign/absent");
  expect(podsOf(reader, shop).map(({ metadata }) => metadata.uid)).toEqual(before);
  reader.type(install);
});

it("the release has the objects that the Operator and Grafana select", () => {
  reader.type(
    "kubectl get podmonitor,prometheusrule shop-countersign",
    "kubectl get configmap --selector grafana_dashboard=1",
  );
});

it("the release leaves nothing behind when it is uninstalled", () => {
  reader.type("helm uninstall shop --wait", "kubectl wait --for=delete pods --all --timeout=120s");
  const kinds = "all,configmap,secret,networkpolicy,podmonitor,prometheusrule,serviceaccount";
  expect(reader.get(`${kinds} --selector app.kubernetes.io/instance=shop`).items).toEqual([]);
});
