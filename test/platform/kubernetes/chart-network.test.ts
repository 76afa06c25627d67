/**
 * A gateway's ports and its NetworkPolicy follow from its configuration: it may reach each server that the configuration names, and is
 * reached where it listens. What does not follow has to be decided, and a sentence says so.
 */
import { expect } from "vitest";
import { openCharts, set, setJson, values } from "./charts.ts";
import { check } from "./fake-secrets.ts";
import { complaintsOf } from "./judges.ts";
import { configurationOf, type Manifest, ofKind, podOf } from "./manifests.ts";
import { withTools } from "./tools.ts";

const test = withTools("helm", "pod-security", "custom-resources", "kubernetes-validate");
const charts = openCharts();
const gateway = [...values.plain, ...set("gateway.networkPolicy.enabled=true")];
const sandbox = "config.environments.sandbox";
const site = `${sandbox}.sites.S1000000001`;
const [proxy, endpoint] = ["http://proxy.example:3128", "http://collector.example:4318/v1/traces"];
const atPort = (port: number) => ({
  credentials: [{ name: "blue", dir: "/blue", token: { url: `https://login.example:${port}/token` } }],
});

/** DNS pods of OpenShift listen on port 5353. */
const dns = { ports: [53, 5353].flatMap((port) => ["UDP", "TCP"].map((protocol) => ({ port, protocol }))) };
const egressOf = (args: readonly string[]) =>
  ofKind(charts.objects("countersign", [...gateway, ...args]), "NetworkPolicy").spec.egress;

test.each([
  { what: "a URL without a port", args: [], ports: [443] },
  { what: "one in plain text", args: set(`${sandbox}.baseUrl=http://api.example/json-api`), ports: [443, 80] },
  { what: "an IPv6 address", args: set(`${sandbox}.baseUrl=https://[2001:db8::1]/json-api`), ports: [443] },
  { what: "a service's port", args: set(`${sandbox}.baseUrl=https://api.example:8443/json`), ports: [443, 8443] },
  { what: "authUrl", args: set(`${sandbox}.authUrl=https://login.example:9443`), ports: [443, 9443] },
  {
    what: "the token endpoints of an environment, a site and a child site",
    args: [
      ...set(`${sandbox}.token.url=https://login.example:7001/token`),
      ...setJson(site, { ...atPort(7002), children: { S1000000002: atPort(7003), S1000000003: {} } }),
    ],
    ports: [443, 7001, 7002, 7003],
  },
  { what: "a proxy, behind which all hosts are", args: set(`${sandbox}.egress.proxy=${proxy}`), ports: [3128] },
  {
    what: "a proxy with exceptions",
    args: setJson(`${sandbox}.egress`, { proxy, noProxy: ["api.example"] }),
    ports: [3128, 443],
  },
  { what: "Redis", args: set("config.redis.url=rediss://redis.example"), ports: [443, 6379] },
  { what: "Redis on a socket", args: set("config.redis.url=unix:/run/redis.sock?db=0"), ports: [443] },
  {
    what: "Redis with further masters",
    args: setJson("config.redis", { url: "redis://a:7000/1", lockNodes: ["redis://b:7001", "rediss://c"] }),
    ports: [443, 6379, 7000, 7001],
  },
  {
    what: "a Cluster",
    args: setJson("config.redis.cluster.nodes", ["a:7000", "[::1]:7001"]),
    ports: [443, 7000, 7001],
  },
  { what: "a collector", args: set(`config.tracing.otlp.endpoint=${endpoint}`), ports: [4318, 443] },
])("the pods may reach DNS and the port of $what", ({ args, ports }) => {
  expect(egressOf(args)).toEqual([dns, { ports: ports.map((port) => ({ port })) }]);
});

test.each([{ egress: [] }, { egress: [{ ports: [{ port: 8443 }] }] }])("or, with %j, DNS and these", ({ egress }) => {
  const redis = setJson("config.redis.sentinel", { name: "one", nodes: ["a:26379"] });
  const args = [...redis, ...set(`${sandbox}.egress=environment`), ...setJson("gateway.networkPolicy.egress", egress)];
  expect(egressOf(args)).toEqual([dns, ...egress]);
});

const called = (bind: string) =>
  setJson("config.callbacks", [
    { bind, environment: "sandbox", application: { url: "https://orders.shop:8443/back" } },
  ]);
const ingress = [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "ingress" } } }];
const peers = setJson("gateway.networkPolicy.callbacks", ingress);

test("callbacks come in by their own port, from the ingress alone, and reach the application", () => {
  const objects = charts.objects("countersign", [...gateway, ...called(":7414"), ...peers]);
  expect(complaintsOf(objects)).toEqual([]);
  expect(check(configurationOf(objects), { API_SECRET: "an-api-secret-from-a-variable" })).toMatchObject({
    valid: true,
  });
  const name = "callbacks-7414";
  expect(podOf(objects).spec.containers[0].ports).toContainEqual({ name, containerPort: 7414 });
  expect(ofKind(objects, "Service").spec.ports).toContainEqual({ name, port: 7414, targetPort: name });
  const { spec } = ofKind(objects, "NetworkPolicy");
  const rules = spec.ingress.filter(({ ports }: Manifest) => ports.some(({ port }: Manifest) => port === 7414));
  expect(rules).toEqual([{ from: ingress, ports: [{ port: 7414 }] }]);
  expect(spec.egress).toEqual([dns, { ports: [{ port: 443 }, { port: 8443 }] }]);
});

const sentinel = setJson("config.redis.sentinel", { name: "one", nodes: ["a:26379"] });

test.each([
  { why: "from nobody", args: called(":7414"), says: "name peers in gateway.networkPolicy.callbacks" },
  ...["127.0.0.1:7414", "unix:/run/callbacks.sock", ":0"].map((bind) => ({
    why: `on ${bind}`,
    args: [...called(bind), ...peers],
    says: `set bind of config.callbacks to :PORT, which a Service can reach, not ${bind}`,
  })),
  ...[8080, 7412, 7413].map((port) => ({
    why: `on ${port}, which a listener, admin or status has`,
    args: [...called(`:${port}`), ...peers],
    says: `a port of its own; with those of admin and status they are 7412, 7413, 8080, ${port}`,
  })),
  {
    why: "and a proxy of variables",
    args: set(`${sandbox}.egress=environment`),
    says: "egress of sandbox is in variables",
  },
  { why: "and masters of Sentinels", args: sentinel, says: "set gateway.networkPolicy.egress: only Sentinels know" },
])("callbacks $why are refused", ({ args, says }) => {
  const { exitCode, stderr } = charts.refusal("countersign", [...gateway, ...args]);
  expect(exitCode).toBe(1);
  expect(stderr).toContain(says);
});
