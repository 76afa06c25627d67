import { Document, parseAllDocuments } from "yaml";
import { asWritten } from "./named-items.ts";

export interface Refused {
  readonly kind: "refused";
  readonly problems: readonly string[];
}

interface WrittenOut {
  readonly kind: "written-out";
  readonly documents: readonly Document[];
}

/** A manifest as a cluster understands it: with what its aliases and merge keys stand for in their place. */
export function writeOut(manifest: string): WrittenOut | Refused {
  const documents: readonly Document[] = parseAllDocuments(manifest, asWritten);
  const problems = documents.flatMap(({ errors }) => errors.map(({ message }) => message));
  if (problems.length > 0) return { kind: "refused", problems };
  try {
    return { kind: "written-out", documents: documents.map(withoutSharing) };
  } catch (error) {
    // An alias without an anchor, or a merge of what is no mapping.
    return { kind: "refused", problems: [(error as Error).message] };
  }
}

function withoutSharing(document: Document): Document {
  const meaning: unknown = document.toJS({ maxAliasCount: -1 });
  return new Document(meaning, { ...asWritten, aliasDuplicateObjects: false });
}
