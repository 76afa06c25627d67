import { z } from "zod";
import { headerName, listOf, matching, parsed, siteIdentifier, text } from "./fields.ts";
import { siteSchema } from "./site-schema.ts";
import { readAddress, urlPattern } from "./values.ts";

const url = (example: string) => parsed(readAddress, { pattern: urlPattern, example });

const operation = matching(
  /^(\*|[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)*)$/,
  "write segments of A-Z a-z 0-9 _ -, like create_order",
);

const tls = z
  .strictObject({
    caFile: text.optional().describe("PEM file with the authorities to trust. Default: the public ones."),
    certFile: text.optional().describe("PEM file of the client certificate (mTLS); needs keyFile."),
    keyFile: text.optional().describe("PEM file of the client certificate's key, without a passphrase."),
  })
  .prefault({})
  .describe("TLS towards the service and the authorization server. Certificates are always verified.");

export const environmentSchema = z
  .strictObject({
    baseUrl: url("https://api.example/json-api").describe(
      "Address of the JSON API (spec 4.1); operations are called below it.",
    ),
    authUrl: url("https://login.example")
      .optional()
      .describe(
        "Address of the authorization server; tokens come from `{authUrl}/oauth/token` (spec 4.2). Never the baseUrl's origin. " +
          "Needed where a site has credentials.",
      ),
    operations: listOf(operation, 1).describe('Operations that may be called; `["*"]` alone allows any.'),
    defaultSite: siteIdentifier
      .optional()
      .describe("Site of requests that name none. Default: the only site, where there is only one."),
    sites: z.record(siteIdentifier, siteSchema).describe("Sites by Site Identifier (S…, spec 5.3)."),
    allowPlaintext: z
      .boolean()
      .default(false)
      .describe("Allow http:// for baseUrl and authUrl; for tests and the simulator."),
    tls,
    undecided: listOf(z.int().min(500).max(599))
      .default([])
      .describe(
        "Statuses that something in front of the service may answer with, like 502 and 504. Such answers pass, with `Countersign-Outcome: unknown`.",
      ),
    forwardHeaders: listOf(headerName)
      .default([])
      .describe("Further request headers to let through. Credentials, framing and hop-by-hop headers never are."),
    via: z.boolean().default(true).describe("Whether requests upstream carry `Via` (RFC 9110 section 7.6.3)."),
  })
  .describe("One environment of the service; it shares no host, client or key with another (spec 7).");

export type RawEnvironment = z.output<typeof environmentSchema>;
