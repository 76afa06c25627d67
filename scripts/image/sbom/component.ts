/** The part of CycloneDX 1.6 that is used here: https://cyclonedx.org/docs/1.6/json/ */
export interface Component {
  readonly type: "application" | "container" | "library" | "operating-system" | "platform" | "data";
  readonly "bom-ref": string;
  readonly supplier?: { readonly name: string };
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly hashes?: readonly { readonly alg: "SHA-256" | "SHA-512"; readonly content: string }[];
  readonly licenses?: readonly ({ readonly license: { readonly id: string } } | { readonly expression: string })[];
  readonly cpe?: string;
  readonly purl?: string;
  readonly evidence?: { readonly occurrences: readonly { readonly location: string }[] };
}

export interface Dependency {
  readonly ref: string;
  readonly dependsOn: readonly string[];
}

export interface Bill {
  readonly $schema: string;
  readonly bomFormat: "CycloneDX";
  readonly specVersion: "1.6";
  readonly serialNumber: string;
  readonly version: 1;
  readonly metadata: {
    readonly timestamp?: string;
    readonly lifecycles: readonly { readonly phase: "build" }[];
    readonly component: Component;
    readonly properties?: readonly { readonly name: string; readonly value: string }[];
  };
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
}

/** https://github.com/package-url/purl-spec: colons stay, all else that is no plain character is percent-encoded. */
export function packageUrl(
  type: string,
  name: string,
  version: string,
  qualifiers: Readonly<Record<string, string>> = {},
): string {
  const encode = (text: string) => encodeURIComponent(text).replaceAll("%3A", ":");
  const path = name.split("/").map(encode).join("/");
  const query = Object.entries(qualifiers)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, value]) => `${key}=${encode(value)}`)
    .join("&");
  return `pkg:${type}/${path}@${encode(version)}${query === "" ? "" : `?${query}`}`;
}

/** The component with the places where it lies in the image. */
export function at(component: Component, paths: Iterable<string>): Component {
  const occurrences = [...paths].sort().map((location) => ({ location }));
  return occurrences.length === 0 ? component : { ...component, evidence: { occurrences } };
}
