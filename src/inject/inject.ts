import { type Document, parseAllDocuments } from "yaml";
import { asWritten } from "./named-items.ts";
import type { InjectOptions } from "./options.ts";
import { injectPodSpec } from "./pod-spec.ts";
import { describeSharing } from "./sharing.ts";
import { styleOf } from "./style.ts";
import { refuseWorkload, workloadKinds, workloadsIn } from "./workloads.ts";
import { type Refused, writeOut } from "./written-out.ts";

/** The manifest with its sidecars, or everything that is wrong with it. */
export type Injected = { readonly kind: "injected"; readonly manifest: string } | Refused;

/** Adds Countersign to every workload of a manifest; the rest, comments too, stays as it is. */
export function inject(manifest: string, wishes: InjectOptions): Injected {
  const meant = writeOut(manifest);
  if (meant.kind === "refused") return meant;
  const workloads = meant.documents.flatMap((document) => workloadsIn(document, wishes));
  const problems = workloads.flatMap((workload) => refuseWorkload(workload, wishes) ?? []);
  if (workloads.length === 0) problems.push(`there is none of ${workloadKinds.join(", ")} to inject into`);
  if (problems.length > 0) return { kind: "refused", problems };

  const injected = addTo(manifest, wishes);
  for (const document of meant.documents) addSidecars(document, wishes);
  const shared = describeSharing(meant.documents, injected);
  return shared.length > 0 ? { kind: "refused", problems: shared } : { kind: "injected", manifest: injected };
}

/** What was not changed is written as it was, to the byte. */
function addTo(manifest: string, wishes: InjectOptions): string {
  const documents: readonly Document.Parsed[] = parseAllDocuments(manifest, asWritten);
  // What has lost its anchor is found afterwards, with a sentence.
  const style = { ...styleOf(manifest), verifyAliasOrder: false };
  const ends = documents.map(({ range }, index) => (index === documents.length - 1 ? manifest.length : range[2]));
  const texts = documents.map((document, index) => {
    const isChanged = addSidecars(document, wishes);
    return isChanged ? document.toString(style) : manifest.slice(ends[index - 1] ?? 0, ends[index]);
  });
  return texts.join("");
}

/** Whether there was a workload. */
function addSidecars(document: Document, wishes: InjectOptions): boolean {
  const workloads = workloadsIn(document, wishes);
  for (const { podSpec } of workloads) if (podSpec !== undefined) injectPodSpec(document, podSpec, wishes);
  return workloads.length > 0;
}
