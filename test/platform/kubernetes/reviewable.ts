import { Document, visit } from "yaml";
import { type Manifest, nameOf, parse } from "./manifests.ts";

/** What fits into so many characters stands on one line; what is longer and comes again is an alias of the first. */
const oneLine = 110;

/** A stream of objects, short for a reviewer: alerts and dashboards are left out, and a configuration is read. */
export function reviewable(stream: string): string {
  const seen = new Map<string, unknown>();
  const shared = (_: string, value: unknown): unknown => {
    const text = JSON.stringify(value);
    if (typeof value !== "object" || text.length <= oneLine) return value;
    if (!seen.has(text)) seen.set(text, value);
    return seen.get(text);
  };
  const objects = parse(stream).map(elide);
  const document = new Document(JSON.parse(JSON.stringify(objects), shared));
  visit(document, {
    Collection: (_, node) => {
      node.flow = JSON.stringify(node).length <= oneLine;
    },
  });
  return document.toString({ lineWidth: 120, indentSeq: false });
}

function elide(object: Manifest): Manifest {
  const { data, spec } = object;
  if (nameOf(object).endsWith("-dashboards")) return { ...object, data: "as in files/" };
  if (spec?.groups !== undefined) return { ...object, spec: { ...spec, groups: "as in files/" } };
  const configuration = data?.["countersign.yaml"];
  if (configuration === undefined) return object;
  return { ...object, data: { ...data, "countersign.yaml": parse(configuration)[0] } };
}
