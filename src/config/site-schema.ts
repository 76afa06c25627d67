import { z } from "zod";
import { listOf, secretSource, text } from "./fields.ts";

/** Quotes matter: YAML reads 3.0 as the number 3. */
const version = z
  .string({
    error: ({ input }) => (typeof input === "number" ? "YAML read this version as a number" : undefined),
  })
  .regex(/^\d{1,3}\.\d{1,3}$/);

const credentials = z
  .union([
    z.strictObject({
      name: text.describe("Name of the set; part of its label in logs and metrics."),
      dir: text.describe("Folder with the files client-id, client-secret and audience."),
    }),
    z.strictObject({
      name: text,
      clientId: text.describe("Client ID (spec 2.3)."),
      clientSecret: secretSource,
      audience: text.describe("Value to send as audience when requesting a token."),
    }),
  ])
  .describe("One OAuth credential set (spec 2.3).");

const key = z
  .strictObject({
    identifier: text.regex(/^K[A-Za-z0-9_-]{1,63}$/).describe("Key Identifier, K… (spec 5.3)."),
    secret: secretSource,
    version: version.optional().describe("API version of the key; must be the site's (spec 5.2 rule 6)."),
    default: z.boolean().default(false).describe("The site's default key pair; a sole key is it anyway."),
  })
  .describe("One HMAC key pair.");

const site = {
  version: version
    .optional()
    .describe("API version of the site's calls, in quotes. Default \"3.0\"; a child has its parent's."),
  auth: listOf(z.enum(["oauth", "hmac"]), 1)
    .optional()
    .describe("Methods it may use; the first is the default."),
  identifyBy: z
    .enum(["site", "key"])
    .optional()
    .describe("What HMAC sends as site_identifier: the site (default) or its default key."),
  characters: z
    .enum(["reject", "warn", "off"])
    .optional()
    .describe("What happens to values that break spec 5.2 rule 3, with HMAC. Default reject."),
  exempt: listOf(text).optional().describe("Names that are not signed. Default format, signature, call."),
  decimals: listOf(text).optional().describe("DECIMAL parameters beside `*_amount`."),
  credentials: listOf(credentials, 1)
    .optional()
    .describe("OAuth credential sets, at most two; the second takes over when the first is refused."),
  keys: listOf(key, 1).optional().describe("HMAC key pairs."),
};

const child = z.strictObject(site).describe("A child site; without credentials of its own it uses its parent's.");

export const siteSchema = z
  .strictObject({
    ...site,
    children: z.record(text, child).default({}).describe("Child sites by Site Identifier (S…)."),
  })
  .describe("A site: its identity, its credentials, its rules.");

export type RawSite = z.output<typeof siteSchema>;
export type RawChild = z.output<typeof child>;
export type RawCredentials = z.output<typeof credentials>;
export type RawKey = z.output<typeof key>;
