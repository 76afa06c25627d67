import { type Document, isMap, parseAllDocuments, type YAMLMap } from "yaml";
import { asWritten } from "./named-items.ts";
import { injectPodSpec, refusePodSpec } from "./pod-spec.ts";
import { styleOf } from "./style.ts";
import type { InjectWishes } from "./wishes.ts";

/** The manifest with its sidecars, or everything that is wrong with it. */
export type Injected =
  | { readonly kind: "injected"; readonly manifest: string }
  | { readonly kind: "refused"; readonly problems: readonly string[] };

const template = ["spec", "template", "spec"];

/** Where each kind of workload has its pod's spec. */
const podSpecOf: Readonly<Record<string, readonly string[]>> = {
  Deployment: template,
  StatefulSet: template,
  DaemonSet: template,
  Job: template,
  CronJob: ["spec", "jobTemplate", ...template],
};

interface Workload {
  readonly document: Document;
  readonly name: string;
  readonly kind: string;
  readonly podSpec: YAMLMap | undefined;
}

/** Adds Countersign to every workload of a manifest; the rest, comments too, stays as it is. */
export function inject(manifest: string, wishes: InjectWishes): Injected {
  const documents = parseAllDocuments(manifest, asWritten);
  if (!Array.isArray(documents)) return { kind: "refused", problems: ["the manifest is empty"] };
  const yamlProblems = documents.flatMap(({ errors }) => errors.map(({ message }) => message));
  if (yamlProblems.length > 0) return { kind: "refused", problems: yamlProblems };

  const workloads = documents.flatMap((document) => findWorkload(document) ?? []);
  const problems = workloads.flatMap((workload) => refuse(workload, wishes) ?? []);
  if (workloads.length === 0) problems.push(`there is none of ${Object.keys(podSpecOf).join(", ")} in the manifest`);
  if (problems.length > 0) return { kind: "refused", problems };

  for (const { podSpec } of workloads) if (podSpec !== undefined) injectPodSpec(podSpec, wishes);
  const changed = new Set(workloads.map(({ document }) => document));
  return { kind: "injected", manifest: write(documents, changed, manifest) };
}

/** What was not changed is written as it was, to the byte. */
function write(documents: readonly Document.Parsed[], changed: ReadonlySet<Document>, manifest: string): string {
  const style = styleOf(manifest);
  const ends = documents.map(({ range }, index) => (index === documents.length - 1 ? manifest.length : range[2]));
  const texts = documents.map((document, index) => {
    return changed.has(document) ? document.toString(style) : manifest.slice(ends[index - 1] ?? 0, ends[index]);
  });
  return texts.join("");
}

function findWorkload(document: Document): Workload | undefined {
  if (!isMap(document.contents)) return undefined;
  const kind = String(document.get("kind"));
  const path = podSpecOf[kind];
  if (path === undefined) return undefined;
  const podSpec = document.getIn(path);
  const name = `${kind} ${document.getIn(["metadata", "name"]) ?? "without a name"}`;
  return { document, name, kind, podSpec: isMap(podSpec) ? podSpec : undefined };
}

function refuse({ name, kind, podSpec }: Workload, { isClassic }: InjectWishes): string | undefined {
  if (podSpec === undefined) return `${name} has no ${podSpecOf[kind]?.join(".")}`;
  if (isClassic && kind.endsWith("Job")) return `${name} would never end with a classic sidecar; leave out --classic`;
  const problem = refusePodSpec(podSpec);
  return problem === undefined ? undefined : `${name} ${problem}`;
}
