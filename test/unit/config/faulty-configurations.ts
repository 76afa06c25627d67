/** Well formed, with a problem of meaning in every part. */
export const wrongEverywhere = {
  listeners: [
    { bind: "127.0.0.1:7411", environment: "sandbox" },
    { bind: ":7414", environment: "production" },
    { bind: "localhost:7411", environment: "sandbox", hosts: ["app"] },
  ],
  admin: { bind: ":7412" },
  status: { bind: ":7413" },
  environments: {
    sandbox: {
      baseUrl: "https://api.sandbox.example/json-api",
      authUrl: "https://api.sandbox.example",
      operations: ["create_order", "*"],
      defaultSite: "S4",
      forwardHeaders: ["x-tenant", "cookie"],
      tls: { caFile: "nothing", certFile: "nothing" },
      sites: {
        S1: {
          credentials: [
            { name: "a", dir: "nothing" },
            { name: "a", clientId: "id", clientSecret: { file: "nothing" }, audience: "x" },
          ],
          children: {
            S2: { exempt: ["timestamp"], keys: [{ identifier: "K1", secret: { file: "nothing" } }] },
            S5: {},
          },
        },
        S3: {
          version: "2.0",
          auth: ["hmac", "oauth"],
          keys: [
            { identifier: "K2", version: "3.0", secret: { file: "nothing" } },
            { identifier: "K3", secret: { env: "NOTHING" } },
          ],
        },
      },
    },
    production: {
      baseUrl: "http://api.example",
      authUrl: "https://api.sandbox.example",
      operations: ["create_order"],
      sites: { S8: { keys: [{ identifier: "K1", secret: { file: "k2" } }] }, S9: { decimals: ["fee"] } },
    },
  },
  redis: {
    url: "redis://a",
    username: "u",
    tls: { certFile: "nothing" },
    lockNodes: ["rediss://b", "rediss://a", "rediss://c"],
    encryptionKeys: [{ file: "k1" }, { file: "nothing" }],
  },
  timeouts: { request: "20s" },
  log: { upstreamHeaders: ["x-request-id"] },
};

/** A fault of form in every part, besides some of meaning. */
export const misshapenEverywhere = {
  listeners: [
    { bind: "nowhere", environment: "sandbox" },
    { bind: ":7414", environment: 5, hosts: ["a:1"] },
    { bind: ":7411", environment: "sandbox", callers: { shop: { token: [] } } },
  ],
  admin: { bind: ":99999", host: [] },
  status: { bind: ":7413", hosts: ["app"] },
  environments: {
    sandbox: {
      baseUrl: "api.sandbox.example",
      authUrl: "https://api.sandbox.example?a=b",
      operations: ["../create_order", "*"],
      defaultSite: "4",
      allowPlaintext: "sure",
      forwardHeaders: ["x tenant", "cookie"],
      undecided: [404],
      via: "no",
      tls: { caFile: "nothing", cert: "nothing" },
      sites: {
        S1: {
          credentials: [
            { name: "a b", dir: "nothing" },
            { name: "b", clientId: "id", clientSecret: "canary", audience: "x" },
          ],
          children: { S2: { exempt: ["time stamp"], keys: [{ identifier: "1", secret: { file: "nothing" } }] }, S5: 5 },
        },
        S3: {
          version: 2.0,
          auth: ["hmca"],
          identifyBy: "sites",
          characters: "no",
          keys: [{ identifier: "K2", version: "3", default: "true", secret: { env: "" } }],
        },
      },
    },
    production: { baseUrl: "http://api.example", operations: [], sites: [] },
  },
  tokens: { cache: "disk" },
  redis: {
    url: "cache",
    sentinel: { nodes: ["a"] },
    cluster: {},
    username: "",
    password: "canary",
    lockNodes: ["b"],
    encryptionKeys: ["canary"],
  },
  timeouts: { request: 20, connect: "1ms", token: "soon" },
  limits: { connections: 0, bodyBytes: "1" },
  log: { level: "verbose", upstreamHeaders: "x-request-id" },
  readiness: "maybe",
  reload: { unreadyAfterRefusal: "1ms" },
  drain: { min: "61m" },
  acknowledge: ["nothing"],
};
