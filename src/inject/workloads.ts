import { isMap, isSeq, type YAMLMap } from "yaml";
import { refusePodSpec } from "./pod-spec.ts";
import type { InjectWishes } from "./wishes.ts";

const template = ["spec", "template", "spec"];

/** Where each kind of workload has its pod's spec. */
const podSpecOf: Readonly<Record<string, readonly string[]>> = {
  Deployment: template,
  StatefulSet: template,
  DaemonSet: template,
  Job: template,
  CronJob: ["spec", "jobTemplate", ...template],
};

export const workloadKinds = Object.keys(podSpecOf);

export interface Workload {
  readonly name: string;
  readonly kind: string;
  readonly podSpec: YAMLMap | undefined;
}

/** The object itself, or those of a List, which `kubectl get --output yaml` prints. */
export function workloadsIn(object: unknown): readonly Workload[] {
  if (!isMap(object)) return [];
  const kind = String(object.get("kind"));
  const items = object.get("items");
  if (kind === "List" && isSeq(items)) return items.items.flatMap(workloadsIn);
  const path = podSpecOf[kind];
  if (path === undefined) return [];
  const podSpec = object.getIn(path);
  return [{ name: nameOf(object), kind, podSpec: isMap(podSpec) ? podSpec : undefined }];
}

export function nameOf(object: YAMLMap): string {
  return `${object.get("kind")} ${object.getIn(["metadata", "name"]) ?? "without a name"}`;
}

/** Why a workload cannot have the sidecar; undefined where it can. */
export function refuseWorkload({ name, kind, podSpec }: Workload, { isClassic }: InjectWishes): string | undefined {
  if (podSpec === undefined) return `${name} has no ${podSpecOf[kind]?.join(".")}`;
  if (isClassic && kind.endsWith("Job")) return `${name} would never end with a classic sidecar; leave out --classic`;
  const problem = refusePodSpec(podSpec);
  return problem === undefined ? undefined : `${name} ${problem}`;
}
