/** A rendering of a chart. Each must satisfy all that a cluster asks. */
export interface Case {
  readonly name: string;
  readonly chart: "countersign" | "example-app";
  /** Beside the chart's own values.yaml. */
  readonly values?: string;
  /** What `countersign check` warns of, and rightly so. */
  readonly warnings: readonly RegExp[];
  /** Those that together use every value have their outcome in snapshots/, to be reviewed. */
  readonly isReviewed?: true;
}

const hmac = /new clients must use OAuth/;

export const cases: readonly Case[] = [
  {
    name: "gateway",
    chart: "countersign",
    values: "helm/countersign/ci/gateway-values.yaml",
    warnings: [/go over the network in plain text/],
  },
  { name: "sidecar", chart: "countersign", values: "helm/countersign/ci/sidecar-values.yaml", warnings: [hmac] },
  {
    name: "gateway-plain",
    chart: "countersign",
    values: "test/platform/kubernetes/values/gateway-plain.yaml",
    warnings: [hmac],
  },
  {
    name: "gateway-everything",
    chart: "countersign",
    values: "test/platform/kubernetes/values/gateway-everything.yaml",
    warnings: [],
    isReviewed: true,
  },
  {
    name: "sidecar-two-environments",
    chart: "example-app",
    values: "test/platform/kubernetes/values/sidecar-two-environments.yaml",
    warnings: [],
    isReviewed: true,
  },
  { name: "example-app", chart: "example-app", warnings: [] },
];

/** Secrets that come from variables. */
export const env = { API_SECRET: "an-api-secret-from-a-variable" } as const;
