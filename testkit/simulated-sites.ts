import type { SimulatedSite } from "../simulator/src/service/sites.ts";

export const audience = "https://api.sandbox.example";
/** A parent site with two credential sets, its child site, and a site that signs. */
export const oauthSite = "S1000000001";
export const childSite = "S1000000002";
export const hmacSite = "S1000000003";
/** A site with both methods: OAuth first. */
export const bothSite = "S1000000005";

/** Every secret of these sites: none of them may ever come out. */
export const canaries = {
  blue: "canary-client-secret-blue",
  green: "canary-client-secret-green",
  both: "canary-client-secret-both",
  keyOne: "canary-api-secret-key-one",
  keyTwo: "canary-api-secret-key-two",
} as const;

const blue = { clientId: "blue-id", clientSecret: canaries.blue, audience };
const keyOne = { identifier: "K2000000001", secret: canaries.keyOne, isDefault: true };

/** One site for each method of authentication. */
export const oneOfEachMethod: readonly SimulatedSite[] = [
  { identifier: oauthSite, credentials: [blue] },
  { identifier: hmacSite, keys: [keyOne] },
];

/** All sites that the simulator knows; the configuration of each stage or pod has some of them. */
export const simulatedSites: readonly SimulatedSite[] = [
  {
    identifier: oauthSite,
    credentials: [blue, { clientId: "green-id", clientSecret: canaries.green, audience }],
  },
  { identifier: childSite, parent: oauthSite },
  {
    identifier: hmacSite,
    keys: [keyOne, { identifier: "K2000000002", secret: canaries.keyTwo }],
  },
  {
    identifier: bothSite,
    credentials: [{ clientId: "both-id", clientSecret: canaries.both, audience }],
    keys: [{ identifier: "K2000000005", secret: canaries.keyOne }],
  },
];
