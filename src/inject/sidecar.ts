import type { InjectOptions } from "./options.ts";

// As in deploy/kustomize/patch.yaml; test/kubernetes holds the two and the chart together.

export const sidecarName = "countersign";
export const sidecarUrl = "http://127.0.0.1:7411";

export function describeContainer({ image, isClassic }: InjectOptions): string {
  return `name: ${sidecarName}
image: ${image}
${isClassic ? "" : "restartPolicy: Always\n"}ports:
  - name: cs-admin
    containerPort: 7412
startupProbe:
  httpGet: { path: /livez, port: cs-admin }
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /livez, port: cs-admin }
  timeoutSeconds: 5
resources:
  requests: { cpu: 100m, memory: 128Mi }
  limits: { memory: 256Mi }
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 0 # files of Secrets belong to root, and an fsGroup would change the application's volumes
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
  seccompProfile: { type: RuntimeDefault }
volumeMounts:
  - name: countersign-config
    mountPath: /etc/countersign
    readOnly: true
  - name: countersign-secrets
    mountPath: /run/secrets/countersign
    readOnly: true
`;
}

export function describeVolumes({ configMap, secret }: InjectOptions): readonly string[] {
  return [
    `name: countersign-config\nconfigMap:\n  name: ${configMap}\n`,
    `name: countersign-secrets\nsecret:\n  secretName: ${secret}\n  defaultMode: 0440\n`,
  ];
}
