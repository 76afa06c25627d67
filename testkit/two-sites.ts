import type { SimulatedSite } from "../simulator/src/service/sites.ts";

export const oauthSite = "S1000000001";
export const hmacSite = "S1000000003";

/** One for each method of authentication. The secrets are made up and public, and easy to find where they must not be. */
export const simulatedSites: readonly SimulatedSite[] = [
  {
    identifier: oauthSite,
    credentials: [
      { clientId: "client-blue", clientSecret: "canary-client-secret-blue", audience: "https://api.sandbox.example" },
    ],
  },
  { identifier: hmacSite, keys: [{ identifier: "K2000000001", secret: "canary-api-secret-key-one" }] },
];
