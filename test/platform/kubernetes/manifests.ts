import { parseAllDocuments } from "yaml";

// biome-ignore lint/suspicious/noExplicitAny: manifests are what they are; assertions say what they must be
export type Manifest = any;

/** The objects of a stream, read as Kubernetes reads them: YAML 1.1, in which 0440 is octal. */
export function parse(stream: string): Manifest[] {
  return parseAllDocuments(stream, { version: "1.1" })
    .map((document) => document.toJS())
    .filter((object) => object !== null);
}

/** The template of the pods that an object makes, or the pod itself. */
export function podTemplateOf(object: Manifest): Manifest | undefined {
  const { kind, spec } = object;
  if (kind === "Pod") return object;
  const found = kind === "CronJob" ? spec.jobTemplate.spec.template : spec?.template;
  return found?.spec === undefined ? undefined : found;
}

/** The first object of a kind. */
export function ofKind(objects: readonly Manifest[], wanted: string): Manifest {
  return objects.find(({ kind }) => kind === wanted);
}

/** The template of the pods of the first object of a kind. */
export function podOf(objects: readonly Manifest[], kind = "Deployment"): Manifest {
  return podTemplateOf(ofKind(objects, kind));
}

/** The sidecar of a pod, wherever it is. */
export function sidecarOf({ spec }: Manifest): Manifest {
  return [...(spec.initContainers ?? []), ...spec.containers].find(({ name }) => name === "countersign");
}

/** Whether an object belongs to a hook of Helm, such as the check before an upgrade; or to `hook` only. */
export function isOfHook({ metadata }: Manifest, hook?: string): boolean {
  const found = metadata.annotations?.["helm.sh/hook"];
  return hook === undefined ? found !== undefined : found === hook;
}

/** Whether an object is of Kubernetes itself, not a custom resource. */
export function isBuiltIn({ apiVersion }: Manifest): boolean {
  return !/^(monitoring\.coreos\.com|external-secrets\.io|cert-manager\.io|secrets\.hashicorp\.com|secrets-store\.csi\.x-k8s\.io)\//.test(
    apiVersion,
  );
}

export function nameOf({ kind, metadata }: Manifest): string {
  return `${kind}/${metadata.name}`;
}

/** The text of the first ConfigMap with Countersign's configuration. */
export function configurationOf(objects: readonly Manifest[]): string {
  const found = objects.find(({ kind, data }) => kind === "ConfigMap" && data["countersign.yaml"] !== undefined);
  return found.data["countersign.yaml"];
}
