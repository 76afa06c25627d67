import { type Document, isMap, isSeq, type YAMLMap } from "yaml";
import type { InjectOptions } from "./options.ts";
import { refusePodSpec } from "./pod-spec.ts";

const template = ["spec", "template"];

/** Where each kind of workload has the metadata and the spec of its pods. */
const podOf: Readonly<Record<string, readonly string[]>> = {
  Deployment: template,
  StatefulSet: template,
  DaemonSet: template,
  Job: template,
  CronJob: ["spec", "jobTemplate", ...template],
  Pod: [],
};

export const workloadKinds = Object.keys(podOf);

/** An annotation of a workload or of its pods; where one says `"false"`, the workload stays as it is. */
const annotation = "countersign.dev/inject";

export interface Workload {
  readonly name: string;
  readonly kind: string;
  readonly podSpec: YAMLMap | undefined;
  /** What the annotation says, where it is. */
  readonly annotated: readonly string[];
}

/** The workloads of a document that are to have the sidecar. */
export function workloadsIn(document: Document, { selects }: InjectOptions): readonly Workload[] {
  return objectsIn(document.contents).flatMap(({ object, kind }) => {
    const path = podOf[kind];
    if (path === undefined) return [];
    const podSpec = object.getIn([...path, "spec"]);
    const own = metadataOf(document, object, []);
    const annotated = [own, metadataOf(document, object, path)].flatMap(
      ({ annotations }) => annotations?.[annotation] ?? [],
    );
    const isMade = own.ownerReferences?.some(
      (owner) => owner.kind === "ReplicaSet" || workloadKinds.includes(owner.kind),
    );
    if (isMade || annotated.includes("false") || !selects(own.labels ?? {})) return [];
    return [{ name: nameOf(object, kind), kind, podSpec: isMap(podSpec) ? podSpec : undefined, annotated }];
  });
}

interface ListedObject {
  readonly object: YAMLMap;
  readonly kind: string;
}

/** The object itself, or those of a List or a DeploymentList, whose items may leave out what they are. */
function objectsIn(node: unknown, kindOfItem?: string): readonly ListedObject[] {
  if (!isMap(node)) return [];
  const kind = String(node.get("kind") ?? kindOfItem);
  const items = node.get("items");
  if (!kind.endsWith("List") || !isSeq(items)) return [{ object: node, kind }];
  return items.items.flatMap((item) => objectsIn(item, kind.slice(0, -"List".length)));
}

interface Metadata {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly { readonly kind: string }[];
}

/** As plain values, with what aliases and merge keys stand for. */
function metadataOf(document: Document, object: YAMLMap, path: readonly string[]): Metadata {
  const metadata = object.getIn([...path, "metadata"]);
  return isMap(metadata) ? metadata.toJS(document) : {};
}

export function nameOf(object: YAMLMap, kind = String(object.get("kind"))): string {
  return `${kind} ${object.getIn(["metadata", "name"]) ?? "without a name"}`;
}

/** Why a workload cannot have the sidecar; undefined where it can. */
export function refuseWorkload(
  { name, kind, podSpec, annotated }: Workload,
  { isClassic }: InjectOptions,
): string | undefined {
  const unclear = annotated.find((value) => value !== "true");
  if (unclear !== undefined) return `${name} has ${annotation}: ${unclear}; write "true" or "false"`;
  if (podSpec === undefined) return `${name} has no ${[...(podOf[kind] ?? []), "spec"].join(".")}`;
  const isToEnd = kind.endsWith("Job") || !["Always", undefined].includes(podSpec.get("restartPolicy") as string);
  if (isClassic && isToEnd) return `${name} would never end with a classic sidecar; leave out --classic`;
  const problem = refusePodSpec(podSpec);
  return problem === undefined ? undefined : `${name} ${problem}`;
}
