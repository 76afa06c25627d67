import { type Document, isMap, isSeq, type YAMLMap } from "yaml";
import { listNames } from "../model/names.ts";
import { defaultGraceSeconds, isSidecar, type Selector, sidecarName, sidecarUrl } from "./sidecar.ts";
import { itemsIn } from "./strategic-merge.ts";

/** A workload that is to have the sidecar. */
export interface Workload {
  /** e.g. `Deployment orders` */
  readonly name: string;
  readonly kind: string;
  /** Where the pod's spec is in the document. */
  readonly path: readonly (string | number)[];
  readonly podSpec: YAMLMap | undefined;
  /** Its own, not those of its pods. */
  readonly labels: Readonly<Record<string, unknown>>;
  /** The values of the annotation, of the workload and of its pods. */
  readonly annotated: readonly unknown[];
}

const template = ["spec", "template"];

/** Where each kind of workload has the metadata and the spec of its pods. */
const podPaths: Readonly<Record<string, readonly string[]>> = {
  Deployment: template,
  StatefulSet: template,
  DaemonSet: template,
  Job: template,
  CronJob: ["spec", "jobTemplate", ...template],
  Pod: [],
};

export const workloadKinds = Object.keys(podPaths);

/** Where it is `"false"`, the workload stays as it is. */
const annotation = "countersign.dev/inject";

/** The workloads of a document that are to have the sidecar: an object, or a list of objects as kubectl prints it. */
export function workloadsIn(object: unknown, selects: Selector, path: Workload["path"] = [], listed = ""): Workload[] {
  if (!isMap(object)) return [];
  // The items of a typed list need not name their kind.
  const kind = String(object.get("kind") ?? listed);
  const items = object.get("items");
  if (kind.endsWith("List") && isSeq(items)) {
    const kindOfItems = kind.slice(0, -"List".length);
    return items.items.flatMap((item, index) => workloadsIn(item, selects, [...path, "items", index], kindOfItems));
  }
  const podPath = podPaths[kind];
  if (podPath === undefined) return [];
  const annotated = [[], podPath].flatMap((of) => object.getIn([...of, "metadata", "annotations", annotation]) ?? []);
  const owners = itemsIn(object.get("metadata"), "ownerReferences").map((owner) => String(owner.get("kind")));
  const isOwned = owners.some((owner) => owner === "ReplicaSet" || workloadKinds.includes(owner));
  const written = object.getIn(["metadata", "labels"]);
  const labels = isMap(written) ? written.toJSON() : {};
  if (isOwned || annotated.includes("false") || !selects(labels)) return [];
  const specPath = [...podPath, "spec"];
  const spec = object.getIn(specPath);
  const podSpec = isMap(spec) ? spec : undefined;
  return [{ name: nameOf(object, kind), kind, path: [...path, ...specPath], podSpec, labels, annotated }];
}

export function nameOf(object: YAMLMap | Document, kind = object.get("kind")): string {
  return `${kind} ${object.getIn(["metadata", "name"]) ?? "without a name"}`;
}

const mostNamed = 5;

/** Why there is nothing to inject into, given what there would be without a selector. */
export function explainNone(all: readonly Workload[]): string {
  if (all.length === 0) return `there is none of ${workloadKinds.join(", ")} to inject into`;
  const named = all.map(({ name, labels }) => {
    const shown = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
    return `${name} (${shown.join(",") || "no labels"})`;
  });
  return `--selector matches none of the workloads, by their own labels: ${listNames(named, mostNamed)}`;
}

/** Why a workload cannot have the sidecar; undefined where it can. */
export function refuseWorkload({ name, kind, podSpec, annotated }: Workload, isClassic: boolean): string | undefined {
  const unclear = annotated.find((value) => value !== "true");
  if (unclear !== undefined) return `${name} has ${annotation}: ${unclear}; write "true" or "false"`;
  if (podSpec === undefined) return `${name} has no ${[...(podPaths[kind] ?? []), "spec"].join(".")}`;
  if (isClassic && (kind.endsWith("Job") || (podSpec.get("restartPolicy") ?? "Always") !== "Always")) {
    return `${name} would never end with a classic sidecar; leave out --classic`;
  }
  if (itemsIn(podSpec, "containers").every(isSidecar)) {
    return `${name} has no container but ${sidecarName}, so there is no application to serve`;
  }
  // What Kubernetes reads as true.
  if (/^(y|yes|true|on)$/i.test(String(podSpec.get("hostNetwork")))) {
    return `${name} has hostNetwork: everything on its node could call ${sidecarUrl} and spend money`;
  }
  if (/^\d+$/.test(String(podSpec.get("terminationGracePeriodSeconds") ?? defaultGraceSeconds))) return undefined;
  return `${name} has a terminationGracePeriodSeconds that is no number`;
}
