import { readFileSync } from "node:fs";
import { stringify } from "yaml";
import { aclRules, aclUser } from "../../../testkit/acl.ts";
import { commandsBelow } from "../kubernetes/page.ts";
import { definitions } from "../kubernetes/tools.ts";
import { redisPassword, type } from "./reader.ts";

const redisConfiguration = `
protected-mode no
port 0
tls-port 6379
tls-cert-file /run/secrets/hosts/tls.crt
tls-key-file /run/secrets/hosts/tls.key
tls-ca-cert-file /run/secrets/hosts/tls.crt
tls-auth-clients no
save ""
user ${aclUser.username} on >${redisPassword} resetkeys ${aclRules.join(" ")}
`;
const redisConfigMap = {
  ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "redis", namespace: "cache" } },
  data: { "redis.conf": redisConfiguration },
};

/** Makes the cluster as the page's reader has it at the start, and the image of the page's first two commands. */
export default function setup(): void {
  type({
    commands: [
      `kubectl apply --server-side --filename ${definitions}/`,
      "for namespace in outside cache; do",
      "kubectl create namespace $namespace",
      "kubectl create secret tls hosts --namespace $namespace --cert /run/hosts.crt --key /run/hosts.key",
      "done",
      "kubectl apply --filename - <<END",
      readFileSync("test/platform/cluster/surroundings.yaml", "utf8"),
      "---",
      stringify(redisConfigMap),
      "END",
      ...commandsBelow("1. The image"),
      "kubectl wait --for=condition=Ready --namespace outside pod/service --timeout=120s",
      "kubectl wait --for=condition=Ready --namespace cache pod/redis --timeout=120s",
    ],
  });
}
