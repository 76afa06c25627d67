import { stringify } from "yaml";

/** A plain value as YAML, for people. */
export function toYaml(value: object): string {
  return stringify(JSON.parse(JSON.stringify(value)), { lineWidth: 0, flowCollectionPadding: true });
}
