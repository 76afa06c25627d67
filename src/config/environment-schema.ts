import * as z from "zod";
import { tokenSettings } from "./credentials/token-settings.ts";
import { egress } from "./egress.ts";
import {
  duration,
  flag,
  headerName,
  keyIdentifier,
  listOf,
  mapping,
  matching,
  parameterName,
  plainName,
  printable,
  secretSource,
  siteIdentifier,
  text,
  tlsFiles,
  url,
} from "./fields.ts";

const operation = matching(
  /^(\*|[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)*)$/,
  "write segments of A-Z a-z 0-9 _ -, like create_order",
);

/** Quotes matter: YAML reads 3.0 as the number 3. */
const version = z
  .string({
    error: ({ input }) => (typeof input === "number" ? "YAML read this version as a number" : undefined),
  })
  .regex(/^\d{1,3}\.\d{1,3}$/, { error: 'write a version in quotes, like "3.0"' })
  .meta({ examples: ["3.0"] });

const setName = plainName.describe("Name of the set; `<site>/<name>` labels it in logs and metrics.");

const credentialSet = z
  .union([
    z.strictObject({
      name: setName,
      dir: text.describe(
        "Folder with the files client-id, client-secret (with private_key_jwt: private-key) and audience.",
      ),
      token: tokenSettings.optional(),
    }),
    z.strictObject({
      name: setName,
      clientId: printable.describe("Client ID (spec 2.3)."),
      clientSecret: secretSource
        .optional()
        .describe(
          "Where the Client Secret is (spec 2.3): `{ file: … }` or `{ env: … }`. For clientAuth post and basic.",
        ),
      audience: printable
        .optional()
        .describe("Value to send as audience when requesting a token (spec 2.3). With `token.url` it may be left out."),
      privateKey: secretSource
        .optional()
        .describe(
          "Where the client's private key is (PEM, or a JWK): `{ file: … }` or `{ env: … }`. For private_key_jwt.",
        ),
      token: tokenSettings.optional(),
    }),
  ])
  .describe("One OAuth credential set (spec 2.3): `name` and `dir`, or everything written here but the secret.");

const signingKey = mapping("One HMAC key pair.", {
  identifier: keyIdentifier.describe("Key Identifier, K… (spec 5.3); unique in its environment."),
  secret: secretSource.describe("Where the API secret key is: `{ file: … }` or `{ env: … }`."),
  version: version
    .optional()
    .describe("API version of the key; must be the site's (spec 5.2 rule 6). Default: the site's."),
  default: flag(false).describe("Whether it is the site's default key pair (spec 5.3); a sole key is it anyway."),
});

const site = {
  version: version
    .optional()
    .describe("API version of the site's calls, in quotes (spec 9). Default: \"3.0\"; a child has its parent's."),
  auth: listOf(z.enum(["oauth", "hmac"]), 1)
    .optional()
    .describe(
      "Methods it may use, the first is the default (spec 5.1). Default: oauth if it has credentials, else hmac. " +
        "Keys of an oauth-only site are for callbacks.",
    ),
  identifyBy: z
    .enum(["site", "key"])
    .optional()
    .describe("What HMAC sends as site_identifier (spec 5.3): the site, or its default key. Default: site."),
  characters: z
    .enum(["reject", "warn", "off"])
    .optional()
    .describe("What happens to values that break spec 5.2 rule 3, with HMAC. Default: reject."),
  exempt: listOf(parameterName)
    .optional()
    .describe("Names that are not signed (spec 5.2 step 1); signature never is. Default: format, signature, call."),
  checkCallerSignature: z
    .enum(["off", "report"])
    .optional()
    .describe(
      "Whether the signature that a caller makes itself is checked with the site's keys before it is dropped, and counted (docs/moving-from-hmac.md). Default: off.",
    ),
  decimals: listOf(parameterName)
    .optional()
    .describe("Parameters with two decimal digits beside `*_amount` (spec 5.2 rule 2). Default: none."),
  credentials: listOf(credentialSet, 1)
    .optional()
    .describe("OAuth credential sets, at most two; the second takes over when the first is refused (spec 5.4)."),
  keys: listOf(signingKey, 1).optional().describe("HMAC key pairs; of several exactly one is the default (spec 5.3)."),
};

const childSite = mapping(
  "A child site: without credentials of its own it uses its parent's; rules it does not set are its parent's.",
  site,
);

const parentSite = mapping("A site: its identity, its credentials, its rules.", {
  ...site,
  children: z
    .record(siteIdentifier, childSite)
    .default({})
    .describe("Child sites by Site Identifier (S…), one level deep."),
});

const prefix = matching(/^\/(?:[^/?#\s]+\/)+$/, "write a path with a slash at both ends, like /files/");

/** CONNECT and TRACE never pass (RFC 9110 sections 9.3.6 and 9.3.8). */
const method = z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

const passThroughRoute = mapping("Paths whose requests pass with their bodies untouched, behind a token.", {
  prefix: prefix.describe("How their paths begin, with a slash at both ends; of several routes the longest counts."),
  upstreamPrefix: prefix
    .optional()
    .describe("How their paths begin at the baseUrl's host. Default: the baseUrl's path and the prefix."),
  methods: listOf(method, 1).describe("Methods that pass; others get 405. HEAD has to be named too."),
  site: siteIdentifier
    .optional()
    .describe("Site of requests that name none in Countersign-Site. Default: as for operations. It uses OAuth."),
  upgrade: z.enum(["websocket"]).optional().describe("Lets a GET switch to WebSocket (RFC 6455). Default: none may."),
  idleTimeout: duration("60s", 100, 3_600_000).describe(
    "How long a body, or a WebSocket, may stand still; 100ms to 3600s. timeouts.request bounds the wait for the answer's head.",
  ),
});

export const environmentSchema = mapping(
  "One environment of the service; it shares no host, client or key with another (spec 7).",
  {
    baseUrl: url("https://api.example/json-api").describe(
      "Address of the JSON API (spec 4.1); operations are called below it.",
    ),
    authUrl: url("https://login.example")
      .optional()
      .describe(
        "Address of the authorization server; tokens come from `{authUrl}/oauth/token` (spec 4.2). Never the baseUrl's origin. " +
          "Needed where a site has credentials, unless `token.url` says where tokens come from.",
      ),
    token: tokenSettings.optional(),
    operations: listOf(operation, 1)
      .describe('Operations that may be called; `["*"]` alone allows any.')
      .meta({ examples: [["create_order"]] }),
    passThrough: listOf(passThroughRoute)
      .default([])
      .describe("Other paths of the service behind the same tokens: files, streams, WebSocket. OAuth only."),
    defaultSite: siteIdentifier
      .optional()
      .describe("Site of requests that name none. Default: the only site, where there is only one."),
    sites: z.record(siteIdentifier, parentSite).describe("Sites by Site Identifier (S…, spec 5.3)."),
    allowPlaintext: flag(false).describe("Allow http:// for baseUrl and authUrl; for tests and the simulator."),
    tls: tlsFiles
      .prefault({})
      .describe("TLS towards the service and the authorization server. Certificates are always verified."),
    egress: egress.optional(),
    undecided: listOf(z.int().min(500).max(599))
      .default([])
      .describe(
        "Statuses that something in front of the service may answer with, like 502 and 504. Such answers pass, with `Countersign-Outcome: unknown`.",
      ),
    forwardHeaders: listOf(headerName.toLowerCase())
      .default([])
      .describe("Further request headers to let through. Credentials, framing and hop-by-hop headers never are."),
    via: flag(true).describe("Whether requests upstream carry `Via` (RFC 9110 section 7.6.3)."),
  },
);

export type RawEnvironment = z.output<typeof environmentSchema>;
export type RawChild = z.output<typeof childSite>;
export type RawCredentialSet = z.output<typeof credentialSet>;
export type RawKey = z.output<typeof signingKey>;
export type RawPassThroughRoute = z.output<typeof passThroughRoute>;
