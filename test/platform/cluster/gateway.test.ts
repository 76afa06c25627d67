/** docs/kubernetes.md, "A gateway instead": installed as the page says, called from another namespace, replaced under load. */
import { randomBytes } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import { exampleSites } from "../../../simulator/src/example-sites.ts";
import { authority, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { commandsBelow } from "../kubernetes/page.ts";
import { follow, podsOf, processOf, statesOf } from "./pods.ts";
import { Reader, redisPassword } from "./reader.ts";

const reader = new Reader("gateway");
const callers = new Reader("till");
const gateway = "app.kubernetes.io/instance=sign,app.kubernetes.io/name=countersign";
const makeKey = () => randomBytes(32).toString("hex");
const [commands = ""] = commandsBelow("A gateway instead");

beforeAll(() => {
  makeSecrets();
  reader.type(commands);
});

it("is installed and tested by the page's commands", () => {
  // The autoscaler starts a second pod.
  reader.type("kubectl wait --for=jsonpath='{.status.readyReplicas}'=2 deployment/sign-countersign --timeout=120s");
  const pods = podsOf(reader, gateway);
  expect(pods.map((pod) => statesOf(pod)["countersign"].ready)).toEqual([true, true]);
  const kinds = reader.get("networkpolicy,poddisruptionbudget,horizontalpodautoscaler,servicemonitor").items;
  expect(kinds.map(({ kind }: { kind: string }) => kind)).toEqual([
    "NetworkPolicy",
    "PodDisruptionBudget",
    "HorizontalPodAutoscaler",
    "ServiceMonitor",
  ]);
});

it("loses no order when all its pods are replaced under load", async () => {
  startLoad();
  const log = follow(callers, "load", "load");
  expect(await log.line((line) => line.startsWith("50 times"))).toBe("50 times 200");
  const before = podsOf(reader, gateway).map(({ metadata }) => metadata.name);
  reader.type(
    "kubectl rollout restart deployment/sign-countersign",
    "kubectl rollout status deployment/sign-countersign --timeout=240s",
    `kubectl wait --for=delete ${before.map((name) => `pod/${name}`).join(" ")} --timeout=120s`,
  );
  callers.type("kubectl delete pod load --wait=false");
  await log.ended;
  const answers = JSON.parse(log.stdout().trim().split("\n").at(-1) ?? "");
  expect(answers).toEqual({ 200: expect.any(Number) });
});

it("is taken out of the Service while it hangs, and started again", () => {
  const [pod] = podsOf(reader, gateway);
  const { name } = pod.metadata;
  process.kill(processOf(pod), "SIGSTOP");
  reader.type(
    `kubectl wait --for=condition=Ready=false pod/${name} --timeout=60s`,
    // After three failed probes comes the grace period of a process that does not react to the signal.
    `kubectl wait --for=jsonpath='{.status.containerStatuses[0].restartCount}'=1 pod/${name} --timeout=180s`,
    `kubectl wait --for=condition=Ready pod/${name} --timeout=60s`,
  );
});

it("leaves nothing behind when it is uninstalled", () => {
  reader.type("helm uninstall sign --wait", "kubectl wait --for=delete pods --all --timeout=120s");
  const kinds =
    "all,configmap,networkpolicy,podmonitor,servicemonitor,prometheusrule,serviceaccount,poddisruptionbudget";
  expect(reader.get(`${kinds} --selector app.kubernetes.io/instance=sign`).items).toEqual([]);
});

function secret(name: string, stringData: object) {
  return {
    ...{ apiVersion: "v1", kind: "Secret" },
    ...{ metadata: { name }, stringData },
  };
}

/** Makes the Secrets that the values name; for Redis, as the External Secrets operator would. */
function makeSecrets(): void {
  const token = makeKey();
  const [set] = exampleSites[0]?.credentials ?? [];
  const credentials = { "client-id": set?.clientId, "client-secret": set?.clientSecret, audience: set?.audience };
  const tls = { "ca.crt": authority, "tls.crt": serverCertificate, "tls.key": serverKey };
  reader.apply(
    secret("countersign-sandbox-blue", credentials),
    // There is no production service here: only its tokens fail.
    ...["production-blue", "production-green"].map((name) => {
      const made = { "client-id": name, "client-secret": makeKey(), audience: "https://api.example" };
      return secret(`countersign-${name}`, made);
    }),
    secret("countersign-callers-tls", tls),
    secret("countersign-callers-tokens", { shop: token, "back-office": makeKey() }),
    secret("sign-countersign-redis", { password: redisPassword, "token-key": makeKey() }),
  );
  callers.apply(secret("token", { token }));
}

/** Starts a pod that orders without a pause until it is deleted. */
function startLoad(): void {
  const restricted = {
    ...{ runAsNonRoot: true, allowPrivilegeEscalation: false },
    ...{ capabilities: { drop: ["ALL"] }, seccompProfile: { type: "RuntimeDefault" } },
  };
  const env = { ADDRESS: "http://sign-countersign.gateway.svc:7421", TOKEN_FILE: "/run/secrets/caller/token" };
  const container = {
    name: "load",
    image: "REGISTRY/orders:1",
    command: ["/usr/local/bin/node", "/app/load.mjs"],
    env: Object.entries(env).map(([name, value]) => ({ name, value })),
    securityContext: restricted,
    volumeMounts: [{ name: "caller", mountPath: "/run/secrets/caller" }],
  };
  const volumes = [{ name: "caller", secret: { secretName: "token" } }];
  callers.apply({
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "load" } },
    spec: { restartPolicy: "Never", containers: [container], volumes },
  });
  callers.type("kubectl wait --for=condition=Ready pod/load --timeout=60s");
}
