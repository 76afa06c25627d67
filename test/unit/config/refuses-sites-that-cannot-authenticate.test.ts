import { edited, sound } from "../../../testkit/config-folder.ts";
import {
  at,
  blue,
  fault,
  inSite1,
  inSite3,
  itRefuses,
  key,
  site1,
  site3,
  withKey,
  withSet,
  withSite,
} from "./refusal.ts";

const defaultKey = (name: string) => `          - { identifier: ${name}, default: true, secret: { file: DIR/k1 } }\n`;
const set = (name: string) =>
  `          - { name: ${name}, clientId: ${name}-id, clientSecret: { file: DIR/${name} }, audience: a }\n`;

const authentication = [
  fault("OAuth for a version below 3.0", inSite1('version: "2.0"'), [`${site1}.version`, /OAuth.*2\.0/, /3\.0/]),
  fault(
    "a key whose version differs from its site's",
    withKey('identifier: K2000000001, version: "2.0", secret: { file: DIR/k1 }'),
    [`${site3}.keys[0].version`, /2\.0.*3\.0/, /site's version/],
  ),
  fault("signatures of callers to be checked without keys", inSite1("checkCallerSignature: report"), [
    `${site1}.checkCallerSignature`,
    /no keys to check signatures with/,
    /add the keys that callers sign with/,
  ]),
  fault(
    "several keys without a default",
    at("        keys:\n", edited([key, `${key}          - { identifier: K2, secret: { file: DIR/k2 } }\n`])),
    [`${site3}.keys`, /exactly one default/, /default: true/],
  ),
  fault("several keys with two defaults", at("        keys:\n", edited([key, ["K1", "K2"].map(defaultKey).join("")])), [
    `${site3}.keys`,
    /exactly one default/,
    /default: true/,
  ]),
  fault(
    "more than two credential sets",
    at("        credentials:\n", edited([blue, `${blue}${["green", "main"].map(set).join("")}`])),
    [`${site1}.credentials`, /at most two/, /remove/],
  ),
  fault("a missing audience", withSet("name: green, clientId: green-id, clientSecret: { file: DIR/green }"), [
    `${site1}.credentials[0].audience`,
    /missing/,
    /add/,
  ]),
  fault(
    "an empty audience",
    withSet('name: green, clientId: green-id, clientSecret: { file: DIR/green }, audience: ""'),
    [`${site1}.credentials[0].audience`, /empty/, /./],
  ),
  fault(
    "an empty audience in a folder",
    at(blue, sound),
    [`${site1}.credentials[0].dir`, /audience.*empty/, /blue\/audience/],
    { files: { "blue/audience": "\n" } },
  ),
  fault(
    "a folder without an audience",
    withSet("name: blue, dir: DIR/other"),
    [`${site1}.credentials[0].dir`, /cannot be read \(ENOENT\)/, /create/],
    { files: { "other/client-id": "other-id", "other/client-secret": "canary-client-secret-other" } },
  ),
  fault(
    "two sets of one name",
    edited([blue, `${blue}${set("green").replace("green", "blue").replace("\n", " # here\n")}`]),
    [`${site1}.credentials[1].name`, /name/, /./],
  ),
  fault("both a folder and a client id", withSet("name: blue, dir: DIR/blue, clientId: abc"), [
    `${site1}.credentials[0].clientId`,
    /clientId does not go with/,
    /either name, dir, token or name, clientId, clientSecret, audience, privateKey, token/,
  ]),
  fault("an auth that names a method without means", inSite1("auth: [oauth, hmac]"), [
    `${site1}.auth[1]`,
    /no keys/,
    /keys/,
  ]),
  fault("an auth that names oauth without credentials", inSite3("auth: [oauth]"), [
    `${site3}.auth[0]`,
    /no credentials/,
    /credentials/,
  ]),
  fault("a bridge for a site without keys", inSite1("bridge: hmac"), [
    `${site1}.bridge`,
    /OAuth first/,
    /\[oauth, hmac\]/,
  ]),
  fault("a bridge for a site that signs", inSite3("bridge: hmac"), [
    `${site3}.bridge`,
    /OAuth first/,
    /\[oauth, hmac\]/,
  ]),
  fault("a method named twice", inSite1("auth: [oauth, oauth]"), [`${site1}.auth[1]`, /twice/, /remove/]),
  fault("a site without credentials and without keys", withSite("S9: { decimals: [a] }"), [
    ".sites.S9",
    /neither credentials nor keys/,
    /credentials.*keys/,
  ]),
  fault("a version that YAML read as a number", inSite1("version: 3.0"), [
    `${site1}.version`,
    /number/,
    /"3\.0".*|quotes/,
  ]),
  fault(
    "a key's version that YAML read as a number",
    withKey("identifier: K2000000001, version: 3.0, secret: { file: DIR/k1 }"),
    [`${site3}.keys[0].version`, /number/, /quotes/],
  ),
  ...["version", "site_identifier", "timestamp"].map((name) =>
    fault(`${name} exempt from the signature`, inSite3(`exempt: [format, ${name}]`), [
      `${site3}.exempt[1]`,
      /must be signed/,
      /5\.2/,
    ]),
  ),
];

itRefuses("sites that cannot authenticate", authentication);
