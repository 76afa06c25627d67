import type { SimulatedSite } from "../simulator/sites.ts";

/**
 * What `simulate` and `demo` know: a parent with two credential sets and a child, a child with its own set, and a site
 * that signs. The secrets are made up and public.
 */
export const exampleSites: readonly SimulatedSite[] = [
  {
    identifier: "S1000000001",
    credentials: [
      { clientId: "client-blue", clientSecret: "example-client-secret-blue", audience: "https://api.sandbox.example" },
      {
        clientId: "client-green",
        clientSecret: "example-client-secret-green",
        audience: "https://api.sandbox.example",
      },
    ],
  },
  { identifier: "S1000000002", parent: "S1000000001" },
  {
    identifier: "S1000000003",
    keys: [{ identifier: "K2000000001", secret: "example-api-secret-key-one" }],
  },
  {
    identifier: "S1000000004",
    parent: "S1000000001",
    credentials: [
      { clientId: "client-own", clientSecret: "example-client-secret-own", audience: "https://api.sandbox.example" },
    ],
  },
];
