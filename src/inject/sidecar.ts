import { Document, isAlias, isMap, isSeq, Pair, parseDocument, type YAMLMap, YAMLSeq } from "yaml";
import { type Collection, defaultGraceSeconds, itemsOf, type Selector, sidecarName, sidecarUrl } from "./workloads.ts";

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

/**
 * Every scalar is a string and is written as it was read: Kubernetes takes YAML 1.1, where 0440 is 288 and `on` is true.
 * The merge key `<<` is of YAML 1.1 too.
 */
export const asWritten = { schema: "failsafe", merge: true } as const;

/** What a pod gets, as a strategic merge patch of its spec. test/kubernetes compares it with deploy/kustomize/patch.yaml and the chart. */
function describePatch({ image, configMap, secret, isClassic }: InjectOptions): string {
  return `${isClassic ? "containers" : "initContainers"}:
  - name: ${sidecarName}
    image: ${image}${isClassic ? "" : "\n    restartPolicy: Always"}
    ports:
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
volumes:
  - name: countersign-config
    configMap:
      name: ${configMap}
  - name: countersign-secrets
    secret:
      secretName: ${secret}
      defaultMode: 0440
`;
}

/** The names in the patch, by list. A classic sidecar may replace a native one. */
const ours: Readonly<Record<string, readonly unknown[]>> = {
  initContainers: [sidecarName],
  containers: [sidecarName],
  volumes: ["countersign-config", "countersign-secrets"],
};

/**
 * Adds the sidecar with its volumes to a pod's spec, and its time to the grace period; or replaces the one that is there.
 * @param known what the spec means
 */
export function addSidecar(podSpec: YAMLMap, known: Collection, options: InjectOptions): void {
  const { drainSeconds, urlVariable } = options;
  const graceSeconds = Number(known["terminationGracePeriodSeconds"] ?? defaultGraceSeconds);
  const isThere = ["initContainers", "containers"].some((list) => itemsOf(known, list).some(isSidecar));
  // What of a former sum is the application's own is not known.
  const neededSeconds = isThere ? Math.max(graceSeconds, drainSeconds) : graceSeconds + drainSeconds;
  if (neededSeconds > graceSeconds) setScalar(podSpec, "terminationGracePeriodSeconds", String(neededSeconds));
  if (urlVariable !== undefined) setVariables(podSpec, known, urlVariable);
  const patch = parseDocument(describePatch(options), asWritten);
  for (const list of Object.keys(ours)) {
    const added = nodesIn(patch, list);
    // First, so that the application's own init containers can call the sidecar.
    if (added.length > 0 && list === "initContainers") listIn(podSpec, known, list, "containers")?.unshift(...added);
    else if (added.length > 0) listIn(podSpec, known, list)?.push(...added);
    // Afterwards, so that a list with nothing else in it keeps its place and its comments.
    removeOurs(podSpec, list, added);
  }
}

function isSidecar({ name }: Collection): boolean {
  return name === sidecarName;
}

/** A variable keeps its place, and a new one is the first: Kubernetes expands `$(NAME)` only in what comes after NAME. */
function setVariables(podSpec: YAMLMap, known: Collection, name: string): void {
  for (const [index, container] of nodesIn(podSpec, "containers").entries()) {
    const knownContainer = itemsOf(known, "containers")[index] ?? {};
    if (!isMap(container) || isSidecar(knownContainer)) continue;
    const variables = listIn(container, knownContainer, "env");
    const found = variables?.filter(isMap).filter((variable) => variable.get("name") === name) ?? [];
    for (const variable of found) {
      variable.delete("valueFrom");
      setScalar(variable, "value", sidecarUrl);
    }
    if (found.length === 0) variables?.unshift(new Document({ name, value: sidecarUrl }, asWritten).contents);
  }
}

/** An alias stays: what it stands for is another place's too. */
function setScalar(map: YAMLMap, key: string, value: string): void {
  if (!isAlias(map.get(key))) map.set(key, value);
}

function nodesIn(map: YAMLMap | Document, list: string): unknown[] {
  const found = map.get(list);
  return isSeq(found) ? found.items : [];
}

/** Removes what an earlier run has added. A list that is empty then goes too. */
function removeOurs(map: YAMLMap, list: string, added: readonly unknown[]): void {
  const nodes = nodesIn(map, list);
  const isOld = (item: unknown) => isMap(item) && ours[list]?.includes(item.get("name")) && !added.includes(item);
  const kept = nodes.filter((item) => !isOld(item));
  if (kept.length === 0 && nodes.length > 0) map.delete(list);
  nodes.splice(0, nodes.length, ...kept);
}

/**
 * The items of a list, made where there is none, before the key `before` if that is given. Undefined where the items come
 * from an alias or a merge key: a new list would hide them.
 */
function listIn(map: YAMLMap, known: Collection, list: string, before?: string): unknown[] | undefined {
  const nodes = nodesIn(map, list);
  if (nodes.length > 0) return nodes;
  if (itemsOf(known, list).some(({ name }) => !ours[list]?.includes(name))) return undefined;
  const made = new YAMLSeq();
  map.delete(list);
  const next = map.items.findIndex(({ key }) => String(key) === before);
  map.items.splice(next === -1 ? map.items.length : next, 0, new Pair(list, made));
  return made.items;
}
