import { Document, isMap, parseAllDocuments, type ToStringOptions } from "yaml";
import { createPatch, type InjectOptions } from "./sidecar.ts";
import { asWritten, mergePatch, unshared } from "./strategic-merge.ts";
import { explainNone, nameOf, refuseWorkload, workloadsIn } from "./workloads.ts";

/** The manifest with its sidecars, or everything that is wrong with it. */
export type Injected =
  | { readonly kind: "injected"; readonly manifest: string }
  | { readonly kind: "refused"; readonly problems: readonly string[] };

/** Adds Countersign to every workload of a manifest. The rest stays as it is, comments too. */
export function inject(manifest: string, options: InjectOptions): Injected {
  const { documents, problems } = readManifest(manifest);
  if (problems.length > 0) return { kind: "refused", problems };
  const workloads = documents.map(({ resolved }) => workloadsIn(resolved.contents, options.selects));
  const refused = workloads.flat().flatMap((workload) => refuseWorkload(workload, options.isClassic) ?? []);
  if (workloads.flat().length === 0) {
    refused.push(explainNone(documents.flatMap(({ resolved }) => workloadsIn(resolved.contents, () => true))));
  }
  if (refused.length > 0) return { kind: "refused", problems: refused };

  const style = styleOf(manifest);
  const texts = documents.map(({ text, written, resolved }, index) => {
    const before: unknown = resolved.toJS();
    for (const { path, podSpec } of workloads[index] ?? []) {
      if (podSpec === undefined) continue;
      const patch = createPatch(podSpec, options);
      const node = written.getIn(path);
      if (isMap(node)) mergePatch(node, podSpec, patch);
      // The result that is expected, since nothing is shared here.
      mergePatch(podSpec, podSpec, patch);
    }
    return findDifference(resolved.toJS(), before) === undefined ? text : written.toString(style);
  });
  const injected = texts.join("");
  const shared = findShared(documents, injected);
  return shared.length > 0 ? { kind: "refused", problems: shared } : { kind: "injected", manifest: injected };
}

interface ManifestDocument {
  readonly text: string;
  readonly written: Document;
  /** As a cluster understands it: with what its aliases and merge keys stand for in their place. */
  readonly resolved: Document;
}

function readManifest(manifest: string): { documents: readonly ManifestDocument[]; problems: readonly string[] } {
  const parsed: readonly Document.Parsed[] = parseAllDocuments(manifest, asWritten);
  const problems = parsed.flatMap(({ errors }) => errors.map(({ message }) => message));
  if (problems.length > 0) return { documents: [], problems };
  try {
    const documents = parsed.map((written, index) => {
      const end = index === parsed.length - 1 ? undefined : written.range[2];
      const resolved = new Document(written.toJS({ maxAliasCount: -1 }), unshared);
      return { text: manifest.slice(parsed[index - 1]?.range[2] ?? 0, end), written, resolved };
    });
    return { documents, problems };
  } catch (error) {
    // An alias without an anchor, or a merge of what is no mapping.
    return { documents: [], problems: [(error as Error).message] };
  }
}

/** How a manifest is written, so that the sidecar looks like the rest of it. */
function styleOf(manifest: string): ToStringOptions {
  const count = (form: RegExp) => manifest.match(form)?.length ?? 0;
  return {
    lineWidth: 0,
    indentSeq: !/^( *)[^\s#-][^\n]*:\n+(?:\s*#[^\n]*\n)*\1- /m.test(manifest),
    flowCollectionPadding: count(/[[{] /g) > count(/[[{][^ \n\]}]/g),
    // An alias that has lost its anchor is found afterwards, and named.
    verifyAliasOrder: false,
  };
}

/**
 * An alias or a merge key makes one text stand in several places, so that a change is made in one place too many, or is
 * hidden. Either way the result differs from that of a manifest that shares nothing.
 */
function findShared(expected: readonly ManifestDocument[], injected: string): readonly string[] {
  const { documents, problems } = readManifest(injected);
  if (problems.length > 0) {
    return problems.map((problem) => `an anchor is on what is replaced, and needed elsewhere; move it: ${problem}`);
  }
  return expected.flatMap(({ resolved }, index) => {
    const path = findDifference(resolved.toJS(), documents[index]?.resolved.toJS())?.join(".");
    if (path === undefined) return [];
    return `${nameOf(resolved)} shares ${path} with another place by an alias or a merge key (<<), but only one of them is to change: write it out`;
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

function isCollection(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
