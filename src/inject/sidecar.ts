import { Document, parseDocument, type YAMLMap } from "yaml";
import { asWritten, itemsIn, unshared } from "./strategic-merge.ts";

export const sidecarName = "countersign";
export const sidecarUrl = "http://127.0.0.1:7411";

/** Kubernetes' own default. */
export const defaultGraceSeconds = 30;

/** Whether a workload with these labels gets the sidecar. */
export type Selector = (labels: Readonly<Record<string, unknown>>) => boolean;

/** How the sidecar is to be, and where. */
export interface InjectOptions {
  readonly image: string;
  /** Its key countersign.yaml becomes /etc/countersign/countersign.yaml. */
  readonly configMap: string;
  /** Its keys become files below /run/secrets/countersign. */
  readonly secret: string;
  /** A container beside the application's, for clusters before Kubernetes 1.29. */
  readonly isClassic: boolean;
  /** Seconds from SIGTERM to Countersign's end at the latest, and a reserve. */
  readonly drainSeconds: number;
  /** By the labels of the workload itself, not of its pods. */
  readonly selects: Selector;
  /** The application's variable for the address to call. */
  readonly urlVariable?: string | undefined;
}

/** As in deploy/patch.yaml, deploy/kustomize and the chart: test/platform/kubernetes compares them. */
const describeSidecar = ({ image, configMap, secret, isClassic }: InjectOptions) => `container:
  $patch: replace
  name: ${sidecarName}
  image: ${image}${isClassic ? "" : "\n  restartPolicy: Always"}
  ports: [{ name: cs-admin, containerPort: 7412 }]
  startupProbe: { httpGet: { path: /livez, port: cs-admin }, periodSeconds: 1, failureThreshold: 60 }
  livenessProbe: { httpGet: { path: /livez, port: cs-admin }, timeoutSeconds: 5 }
  resources: { requests: { cpu: 100m, memory: 128Mi }, limits: { memory: 256Mi } }
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 0 # files of Secrets belong to root, and an fsGroup would change the application's volumes
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: { drop: [ALL] }
    seccompProfile: { type: RuntimeDefault }
  volumeMounts:
    - { name: countersign-config, mountPath: /etc/countersign, readOnly: true }
    - { name: countersign-secrets, mountPath: /run/secrets/countersign, readOnly: true }
volumes:
  - { name: countersign-config, configMap: { name: ${configMap} }, $patch: replace }
  - { name: countersign-secrets, secret: { secretName: ${secret}, defaultMode: 0440 }, $patch: replace }
`;

/** The sidecar, its volumes and its time for a pod's spec, as a strategic merge patch. */
export function createPatch(podSpec: YAMLMap, options: InjectOptions): YAMLMap {
  const { isClassic, drainSeconds, urlVariable: name } = options;
  const described = parseDocument(describeSidecar(options), asWritten);
  const [sidecar, volumes] = [described.get("container"), described.get("volumes")];
  const noSidecar = { name: sidecarName, $patch: "delete" };
  const initContainers = itemsIn(podSpec, "initContainers");
  const containers = itemsIn(podSpec, "containers");
  const graceSeconds = Number(podSpec.get("terminationGracePeriodSeconds") ?? defaultGraceSeconds);
  const isThere = [...initContainers, ...containers].some(isSidecar);
  // What of a former sum is the application's own is not known.
  const neededSeconds = isThere ? Math.max(graceSeconds, drainSeconds) : graceSeconds + drainSeconds;
  const env = name === undefined ? [] : [{ name, value: sidecarUrl, valueFrom: null }];
  const withVariable = (list: readonly YAMLMap[]) =>
    list.filter((container) => !isSidecar(container)).map((container) => ({ name: container.get("name"), env }));
  // A native sidecar runs before the init containers, a classic one after them.
  const callingInits = isClassic || name === undefined ? [] : withVariable(initContainers);
  const patch = {
    ...(neededSeconds > graceSeconds && { terminationGracePeriodSeconds: String(neededSeconds) }),
    initContainers: [isClassic ? noSidecar : sidecar, ...callingInits],
    containers: [...withVariable(containers), isClassic ? sidecar : noSidecar],
    volumes,
  };
  return new Document(patch, unshared).contents as YAMLMap;
}

export function isSidecar(container: YAMLMap): boolean {
  return container.get("name") === sidecarName;
}
