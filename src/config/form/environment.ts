import * as z from "zod";
import { tokenSettings } from "./credentials.ts";
import { egress } from "./egress.ts";
import {
  duration,
  flag,
  headerName,
  listOf,
  mapping,
  matching,
  optional,
  pathLike,
  siteIdentifier,
  tlsFiles,
  url,
  withDefault,
} from "./fields.ts";
import { type RawParent, siteInEffect } from "./site.ts";

const operation = matching(
  /^(\*|[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)*)$/,
  "write segments of A-Z a-z 0-9 _ -",
  "create_order",
);

/** Of the characters of a path (RFC 3986 section 3.3), and those that `checkPrefix` explains. */
const prefix = matching(
  /^\/(?:[\w.~!$&'()*+,;=:@%\\-]+\/)+$/,
  "write a path of plain characters with a slash at both ends",
  "/files/",
);

/** CONNECT and TRACE never pass (RFC 9110 sections 9.3.6 and 9.3.8). */
const method = z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

const passThroughRoute = mapping("Paths whose requests pass with a token and an unchanged body.", {
  prefix: prefix.describe("Start of their paths, with a slash at both ends; the longest matching prefix applies."),
  upstreamPrefix: optional(prefix).describe(
    "Start of their paths at the baseUrl's host. Default: the baseUrl's path and the prefix.",
  ),
  methods: listOf(method, 1).describe("Methods that pass; others get 405. GET does not include HEAD."),
  site: optional(siteIdentifier).describe(
    "Site of requests that name none in Countersign-Site. Default: as for operations. The site must use OAuth.",
  ),
  upgrade: optional(z.enum(["websocket"])).describe("Lets a GET switch to WebSocket (RFC 6455). Default: no GET may."),
  idleTimeout: duration("60s", 100, 3_600_000).describe(
    "How long a body, or a WebSocket, may transfer nothing; 100ms to 1h. timeouts.request bounds the wait for the answer's head.",
  ),
});

const siteFolder = mapping("Sites in files of their own (docs/sites.md).", {
  folder: pathLike("sites.d").describe(
    "A folder, relative to the configuration file. Its file `S….yaml` holds the settings of the site `S…`.",
  ),
});

export const environmentSchema = mapping(
  "One environment of the service; it shares no host, client or key with another (spec 7).",
  {
    baseUrl: url("https://api.example/json-api").describe(
      "Address of the JSON API (spec 4.1); operations are called below it.",
    ),
    authUrl: optional(url("https://login.example")).describe(
      "Address of the authorization server; tokens come from `{authUrl}/oauth/token` (spec 4.2). Never the baseUrl's origin. " +
        "Needed if a site has credentials, unless `token.url` says where tokens come from.",
    ),
    token: tokenSettings.optional(),
    operations: listOf(operation, 1).describe('Operations that may be called; `["*"]` alone allows any.'),
    passThrough: withDefault(listOf(passThroughRoute), []).describe(
      "Other paths of the service behind the same tokens: files, streams, WebSocket. OAuth only.",
    ),
    defaultSite: optional(siteIdentifier).describe(
      "Site of requests that name no site. Default: the only site, if there is only one.",
    ),
    sites: z
      .union([z.record(siteIdentifier, siteInEffect), siteFolder])
      .describe("Sites by Site Identifier (S…, spec 5.3), or `folder`: each site has a file of its own."),
    allowPlaintext: flag(false).describe("Allow http:// for baseUrl and authUrl; for tests and the simulator."),
    tls: tlsFiles.prefault({}).describe("TLS towards the service and the authorization server."),
    keepAlive: mapping("How long connections to the service and the authorization server are kept.", {
      requests: optional(z.int().min(1).max(1_000_000)).describe(
        "Most requests on one connection, up to 1,000,000. With 1, no answer can reach another request. Default: no limit.",
      ),
    }).prefault({}),
    egress: egress.optional(),
    undecided: optional(listOf(z.int().min(500).max(599))).describe(
      "Statuses that do not show whether the service has acted. Such answers pass, with `Countersign-Outcome: unknown`. Default: all 5xx; `[]`: every answer is final.",
    ),
    forwardHeaders: withDefault(listOf(headerName.toLowerCase()), []).describe(
      "Further request headers to forward; never those for credentials, framing or one hop.",
    ),
    via: flag(true).describe("Whether requests upstream carry `Via` (RFC 9110 section 7.6.3)."),
  },
);

export type RawPassThroughRoute = z.output<typeof passThroughRoute>;
export type RawEnvironment = z.output<typeof environmentSchema>;

/** The folder with the files of the sites; undefined if the sites are in the configuration itself. */
export function folderOf({ folder }: RawEnvironment["sites"]): string | undefined {
  return typeof folder === "string" ? folder : undefined;
}

/** The sites in the configuration itself; none if they have files of their own. */
export function namedSites(sites: RawEnvironment["sites"]): Readonly<Record<string, RawParent>> {
  return folderOf(sites) === undefined ? (sites as Record<string, RawParent>) : {};
}
