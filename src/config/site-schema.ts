import { z } from "zod";
import {
  keyIdentifier,
  listOf,
  parameterName,
  plainName,
  printable,
  secretSource,
  siteIdentifier,
  text,
} from "./fields.ts";

/** Quotes matter: YAML reads 3.0 as the number 3. */
const version = z
  .string({
    error: ({ input }) => (typeof input === "number" ? "YAML read this version as a number" : undefined),
  })
  .regex(/^\d{1,3}\.\d{1,3}$/, { error: 'write a version in quotes, like "3.0"' })
  .meta({ examples: ["3.0"] });

const setName = plainName.describe("Name of the set; `<site>/<name>` labels it in logs and metrics.");

export const setInFolder = z.strictObject({
  name: setName,
  dir: text.describe("Folder with the files client-id, client-secret and audience."),
});

export const setWritten = z.strictObject({
  name: setName,
  clientId: printable.describe("Client ID (spec 2.3)."),
  clientSecret: secretSource.describe("Where the Client Secret is (spec 2.3): `{ file: … }` or `{ env: … }`."),
  audience: printable.describe("Value to send as audience when requesting a token (spec 2.3)."),
});

const credentials = z
  .union([setInFolder, setWritten])
  .describe("One OAuth credential set (spec 2.3): `name` and `dir`, or everything written here but the secret.");

export const keySchema = z
  .strictObject({
    identifier: keyIdentifier.describe("Key Identifier, K… (spec 5.3); unique in its environment."),
    secret: secretSource.describe("Where the API secret key is: `{ file: … }` or `{ env: … }`."),
    version: version
      .optional()
      .describe("API version of the key; must be the site's (spec 5.2 rule 6). Default: the site's."),
    default: z
      .boolean()
      .default(false)
      .describe("Whether it is the site's default key pair (spec 5.3); a sole key is it anyway."),
  })
  .describe("One HMAC key pair.");

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
  decimals: listOf(parameterName)
    .optional()
    .describe("Parameters with two decimal digits beside `*_amount` (spec 5.2 rule 2). Default: none."),
  credentials: listOf(credentials, 1)
    .optional()
    .describe("OAuth credential sets, at most two; the second takes over when the first is refused (spec 5.4)."),
  keys: listOf(keySchema, 1).optional().describe("HMAC key pairs; of several exactly one is the default (spec 5.3)."),
};

export const childSchema = z
  .strictObject(site)
  .describe(
    "A child site: without credentials of its own it uses its parent's; rules it does not set are its parent's.",
  );

export const siteSchema = z
  .strictObject({
    ...site,
    children: z
      .record(siteIdentifier, childSchema)
      .default({})
      .describe("Child sites by Site Identifier (S…), one level deep."),
  })
  .describe("A site: its identity, its credentials, its rules.");

export type RawChild = z.output<typeof childSchema>;
export type RawCredentials = z.output<typeof credentials>;
export type RawKey = z.output<typeof keySchema>;
