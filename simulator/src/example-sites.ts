import type { SimulatedCredentials, SimulatedSite } from "./service/sites.ts";

/**
 * The sites of `simulate` and `demo`: a parent with two credential sets and a child, a child with its own sets, and a site
 * that signs and may use OAuth too. The secrets are made up and public.
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
    credentials: [
      {
        clientId: "client-moving",
        clientSecret: "example-client-secret-moving",
        audience: "https://api.sandbox.example",
      },
    ],
  },
  {
    identifier: "S1000000004",
    parent: "S1000000001",
    credentials: [
      { clientId: "client-own", clientSecret: "example-client-secret-own", audience: "https://api.sandbox.example" },
      { clientId: "client-next", clientSecret: "example-client-secret-next", audience: "https://api.sandbox.example" },
    ],
  },
];

/** Credential sets that the service has generated and the demo does not use at first: simulator/practise.md puts them into use. */
const generatedOnly: ReadonlySet<string> = new Set(["client-moving", "client-next"]);

/** The sites as the demo's configuration has them at first. */
export const configuredSites: readonly SimulatedSite[] = exampleSites.map(({ credentials = [], ...site }) => {
  const inUse = credentials.filter(({ clientId }) => !generatedOnly.has(clientId));
  return inUse.length === 0 ? site : { ...site, credentials: inUse };
});

/** The generated sets, as the portal showed them (spec 5.4). */
export const generatedSets: readonly SimulatedCredentials[] = exampleSites
  .flatMap(({ credentials = [] }) => credentials)
  .filter(({ clientId }) => generatedOnly.has(clientId));
