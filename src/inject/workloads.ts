/** Whether an object with these labels is selected. */
export type Selector = (labels: Readonly<Record<string, unknown>>) => boolean;

export const sidecarName = "countersign";
export const sidecarUrl = "http://127.0.0.1:7411";

/** As the cluster understands it, without aliases and merge keys. Every scalar is a string. */
export type Collection = Readonly<Record<string, unknown>>;

/** A workload that is to have the sidecar. */
export interface Workload {
  /** e.g. `Deployment orders` */
  readonly name: string;
  readonly kind: string;
  /** Where the pod's spec is in the document. */
  readonly path: readonly (string | number)[];
  readonly podSpec: Collection | undefined;
  /** The values of the annotation, of the workload and of its pods. */
  readonly annotated: readonly string[];
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

export function isCollection(value: unknown): value is Collection {
  return typeof value === "object" && value !== null;
}

/** The workloads of a document that are to have the sidecar: an object, or a list of objects as kubectl prints it. */
export function workloadsIn(
  value: unknown,
  selects: Selector,
  path: Workload["path"] = [],
  kindOfItem = "",
): Workload[] {
  if (!isCollection(value)) return [];
  // The items of a typed list need not name their kind.
  const kind = String(value["kind"] ?? kindOfItem);
  const { items } = value;
  if (kind.endsWith("List") && Array.isArray(items)) {
    const kindOfItems = kind.slice(0, -"List".length);
    return items.flatMap((item, index) => workloadsIn(item, selects, [...path, "items", index], kindOfItems));
  }
  const podPath = podPaths[kind];
  if (podPath === undefined) return [];
  const pod = podPath.reduce<unknown>((inner, key) => (isCollection(inner) ? inner[key] : undefined), value);
  const own = metadataOf(value);
  const annotated = [own, metadataOf(pod)].flatMap(({ annotations }) => annotations?.[annotation] ?? []);
  const isOwned = own.ownerReferences?.some(
    (owner) => owner.kind === "ReplicaSet" || workloadKinds.includes(owner.kind),
  );
  if (isOwned || annotated.includes("false") || !selects(own.labels ?? {})) return [];
  const spec = isCollection(pod) ? pod["spec"] : undefined;
  const podSpec = isCollection(spec) && !Array.isArray(spec) ? spec : undefined;
  return [{ name: nameOf(value, kind), kind, path: [...path, ...podPath, "spec"], podSpec, annotated }];
}

interface Metadata {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly { readonly kind: string }[];
}

function metadataOf(object: unknown): Metadata {
  return isCollection(object) && isCollection(object["metadata"]) ? object["metadata"] : {};
}

export function nameOf(object: Collection, kind = String(object["kind"])): string {
  return `${kind} ${metadataOf(object).name ?? "without a name"}`;
}

/** Kubernetes' own default. */
export const defaultGraceSeconds = 30;

/** What Kubernetes reads as true. */
const yaml11True = /^(y|yes|true|on)$/i;

/** Why a workload cannot have the sidecar; undefined where it can. */
export function refuseWorkload({ name, kind, podSpec, annotated }: Workload, isClassic: boolean): string | undefined {
  const unclear = annotated.find((value) => value !== "true");
  if (unclear !== undefined) return `${name} has ${annotation}: ${unclear}; write "true" or "false"`;
  if (podSpec === undefined) return `${name} has no ${[...(podPaths[kind] ?? []), "spec"].join(".")}`;
  const { restartPolicy = "Always", hostNetwork, terminationGracePeriodSeconds = defaultGraceSeconds } = podSpec;
  if (isClassic && (kind.endsWith("Job") || restartPolicy !== "Always")) {
    return `${name} would never end with a classic sidecar; leave out --classic`;
  }
  if (itemsOf(podSpec, "containers").every((container) => container["name"] === sidecarName)) {
    return `${name} has no container but ${sidecarName}, so there is no application to serve`;
  }
  if (yaml11True.test(String(hostNetwork))) {
    return `${name} has hostNetwork: everything on its node could call ${sidecarUrl} and spend money`;
  }
  if (/^\d+$/.test(String(terminationGracePeriodSeconds))) return undefined;
  return `${name} has a terminationGracePeriodSeconds that is no number`;
}

/** The items of a list of named items, such as containers, volumes and variables. */
export function itemsOf(object: unknown, list: string): readonly Collection[] {
  const items = isCollection(object) ? object[list] : undefined;
  return Array.isArray(items) ? items.filter(isCollection) : [];
}

const requirement =
  /^\s*(?:(?<not>!?)\s*(?<alone>[\w./-]+)|(?<key>[\w./-]+)\s*(?:(?<sign>==?|!=)\s*(?<value>[\w.-]*)|\s(?<word>in|notin)\s*\((?<values>[^()]+)\)))\s*$/;

/**
 * A label selector in the syntax of `kubectl --selector`: `a=b`, `a!=b`, `a in (b, c)`, `a notin (b)`, `a`, `!a`, joined by
 * commas. As there, `!=` and `notin` also select what lacks the label.
 * @returns undefined where the text is no such selector
 */
export function readSelector(text: string): Selector | undefined {
  const selectors = text.split(/,(?![^(]*\))/).map(readRequirement);
  if (selectors.includes(undefined)) return undefined;
  return (labels) => selectors.every((selects) => selects?.(labels));
}

function readRequirement(text: string): Selector | undefined {
  const { not, alone, key, sign, value, word, values } = requirement.exec(text)?.groups ?? {};
  if (alone !== undefined) return (labels) => Object.hasOwn(labels, alone) === (not === "");
  if (key === undefined) return undefined;
  const wanted = values?.split(",").map((each) => each.trim()) ?? [value];
  const isWanted = word === undefined ? sign !== "!=" : word === "in";
  return (labels) => wanted.includes(labels[key] as string | undefined) === isWanted;
}
