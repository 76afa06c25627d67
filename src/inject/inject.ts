import { Document, isMap, parseAllDocuments, type ToStringOptions } from "yaml";
import { addSidecar, asWritten, type InjectOptions } from "./sidecar.ts";
import { isCollection, nameOf, refuseWorkload, type Workload, workloadKinds, workloadsIn } from "./workloads.ts";

/** The manifest with its sidecars, or everything that is wrong with it. */
export type Injected = { readonly kind: "injected"; readonly manifest: string } | Refused;

interface Refused {
  readonly kind: "refused";
  readonly problems: readonly string[];
}

/** Adds Countersign to every workload of a manifest. The rest stays as it is, comments too. */
export function inject(manifest: string, options: InjectOptions): Injected {
  const read = readManifest(manifest);
  if (read.kind === "refused") return read;
  const workloads = read.values.map((value) => workloadsIn(value, options.selects));
  const problems = workloads.flat().flatMap((workload) => refuseWorkload(workload, options.isClassic) ?? []);
  if (workloads.flat().length === 0) problems.push(`there is none of ${workloadKinds.join(", ")} to inject into`);
  if (problems.length > 0) return { kind: "refused", problems };

  const injected = injectText(manifest, workloads, options);
  const expected = read.values.map((value, index) => injectValue(value, workloads[index] ?? [], options));
  const shared = findShared(expected, injected);
  return shared.length > 0 ? { kind: "refused", problems: shared } : { kind: "injected", manifest: injected };
}

/** Each document as a cluster understands it: with what its aliases and merge keys stand for in their place. */
function readManifest(manifest: string): { readonly kind: "read"; readonly values: readonly unknown[] } | Refused {
  const documents: readonly Document[] = parseAllDocuments(manifest, asWritten);
  const problems = documents.flatMap(({ errors }) => errors.map(({ message }) => message));
  if (problems.length > 0) return { kind: "refused", problems };
  try {
    return { kind: "read", values: documents.map((document) => document.toJS({ maxAliasCount: -1 })) };
  } catch (error) {
    // An alias without an anchor, or a merge of what is no mapping.
    return { kind: "refused", problems: [(error as Error).message] };
  }
}

/** A document that is not changed stays to the byte. */
function injectText(manifest: string, workloads: readonly Workload[][], options: InjectOptions): string {
  const documents: readonly Document.Parsed[] = parseAllDocuments(manifest, asWritten);
  // An alias that has lost its anchor is found afterwards, and named.
  const style = { ...styleOf(manifest), verifyAliasOrder: false };
  const ends = documents.map(({ range }, index) => (index === documents.length - 1 ? manifest.length : range[2]));
  const texts = documents.map((document, index) => {
    const own = workloads[index] ?? [];
    if (own.length === 0) return manifest.slice(ends[index - 1] ?? 0, ends[index]);
    addSidecars(document, own, options);
    return document.toString(style);
  });
  return texts.join("");
}

/** The same where nothing is shared. */
function injectValue(value: unknown, workloads: readonly Workload[], options: InjectOptions): unknown {
  const document = new Document(value, { ...asWritten, aliasDuplicateObjects: false });
  addSidecars(document, workloads, options);
  return document.toJS();
}

function addSidecars(document: Document, workloads: readonly Workload[], options: InjectOptions): void {
  for (const { path, podSpec = {} } of workloads) {
    const node = document.getIn(path);
    if (isMap(node)) addSidecar(node, podSpec, options);
  }
}

/** How a manifest is written, so that the sidecar looks like the rest of it. */
function styleOf(manifest: string): ToStringOptions {
  const count = (form: RegExp) => manifest.match(form)?.length ?? 0;
  return {
    lineWidth: 0,
    indentSeq: !/^( *)[^\s#-][^\n]*:\n+(?:\s*#[^\n]*\n)*\1- /m.test(manifest),
    flowCollectionPadding: count(/[[{] /g) > count(/[[{][^ \n\]}]/g),
  };
}

/**
 * An alias or a merge key makes one text stand in several places, so that a change is made in one place too many, or is
 * hidden. Either way the result differs from that of a manifest that shares nothing.
 */
function findShared(expected: readonly unknown[], injected: string): readonly string[] {
  const read = readManifest(injected);
  if (read.kind === "refused") {
    return read.problems.map(
      (problem) => `an anchor is on what is replaced, and needed elsewhere; move it: ${problem}`,
    );
  }
  return expected.flatMap((value, index) => {
    const path = findDifference(value, read.values[index]);
    if (path === undefined) return [];
    const name = isCollection(value) ? nameOf(value) : "a document";
    return `${name} shares ${path.join(".")} with another place by an alias or a merge key (<<), but only one of them is to change: write it out`;
  });
}

/** The path to the first difference, through named items by their names; undefined where there is none. */
function findDifference(one: unknown, other: unknown): readonly string[] | undefined {
  if (!isCollection(one) || !isCollection(other)) return one === other ? undefined : [];
  const keys = Object.keys({ ...one, ...other });
  if (Object.keys(one).length < keys.length || Object.keys(other).length < keys.length) return [];
  for (const key of keys) {
    const item = one[key];
    const inner = findDifference(item, other[key]);
    if (inner !== undefined) return [isCollection(item) ? String(item["name"] ?? key) : key, ...inner];
  }
  return undefined;
}
