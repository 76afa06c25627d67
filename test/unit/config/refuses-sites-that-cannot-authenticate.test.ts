import { edited } from "../../../testkit/config-folder.ts";
import { after, blue, inSite1, inSite3, instead, itRefuses, key, type Refusal, site1, site3 } from "./refusal.ts";

const authentication: readonly Refusal[] = [
  {
    what: "OAuth for a version below 3.0",
    yaml: after(inSite1, '        version: "2.0" # here'),
    path: `${site1}.version`,
    message: /OAuth.*2\.0/,
    fix: /3\.0/,
  },
  {
    what: "a key whose version differs from its site's",
    yaml: instead(key, '          - { identifier: K2000000001, version: "2.0", secret: { file: DIR/k1 } } # here'),
    path: `${site3}.keys[0].version`,
    message: /2\.0.*3\.0/,
    fix: /site's version/,
  },
  {
    what: "signatures of callers to be checked without keys",
    yaml: after(inSite1, "        checkCallerSignature: report # here"),
    path: `${site1}.checkCallerSignature`,
    message: /no keys to check signatures with/,
    fix: /add the keys that callers sign with/,
  },
  {
    what: "several keys without a default",
    yaml: edited([
      `        keys:\n${key}`,
      `        keys: # here\n${key}          - { identifier: K2, secret: { file: DIR/k2 } }\n`,
    ]),
    path: `${site3}.keys`,
    message: /exactly one default/,
    fix: /default: true/,
  },
  {
    what: "several keys with two defaults",
    yaml: edited([
      `        keys:\n${key}`,
      `        keys: # here
          - { identifier: K1, default: true, secret: { file: DIR/k1 } }
          - { identifier: K2, default: true, secret: { file: DIR/k2 } }
`,
    ]),
    path: `${site3}.keys`,
    message: /exactly one default/,
    fix: /default: true/,
  },
  {
    what: "more than two credential sets",
    yaml: edited([
      `        credentials:\n${blue}`,
      `        credentials: # here
${blue.trimEnd()}
          - { name: green, clientId: green-id, clientSecret: { file: DIR/green }, audience: a }
          - { name: red, clientId: red-id, clientSecret: { file: DIR/main }, audience: a }
`,
    ]),
    path: `${site1}.credentials`,
    message: /at most two/,
    fix: /remove/,
  },
  {
    what: "a missing audience",
    yaml: instead(blue, "          - { name: green, clientId: green-id, clientSecret: { file: DIR/green } } # here"),
    path: `${site1}.credentials[0].audience`,
    message: /missing/,
    fix: /add/,
  },
  {
    what: "an empty audience",
    yaml: instead(
      blue,
      '          - { name: green, clientId: green-id, clientSecret: { file: DIR/green }, audience: "" } # here',
    ),
    path: `${site1}.credentials[0].audience`,
    message: /empty/,
    fix: /./,
  },
  {
    what: "an empty audience in a folder",
    yaml: instead(blue, `${blue.trimEnd()} # here`),
    files: { "blue/audience": "\n" },
    path: `${site1}.credentials[0].dir`,
    message: /audience.*empty/,
    fix: /blue\/audience/,
  },
  {
    what: "a folder without an audience",
    yaml: instead(blue, "          - { name: blue, dir: DIR/other } # here"),
    files: { "other/client-id": "other-id", "other/client-secret": "canary-client-secret-other" },
    path: `${site1}.credentials[0].dir`,
    message: /cannot be read \(ENOENT\)/,
    fix: /create/,
  },
  {
    what: "two sets of one name",
    yaml: edited([
      blue,
      `${blue}          - { name: blue, clientId: green-id, clientSecret: { file: DIR/green }, audience: a } # here\n`,
    ]),
    path: `${site1}.credentials[1].name`,
    message: /name/,
    fix: /./,
  },
  {
    what: "both a folder and a client id",
    yaml: instead(blue, "          - { name: blue, dir: DIR/blue, clientId: abc } # here"),
    path: `${site1}.credentials[0].clientId`,
    message: /clientId does not go with/,
    fix: /either name, dir, token or name, clientId, clientSecret, audience, privateKey, token/,
  },
  {
    what: "an auth that names a method without means",
    yaml: after(inSite1, "        auth: [oauth, hmac] # here"),
    path: `${site1}.auth[1]`,
    message: /no keys/,
    fix: /keys/,
  },
  {
    what: "an auth that names oauth without credentials",
    yaml: after(inSite3, "        auth: [oauth] # here"),
    path: `${site3}.auth[0]`,
    message: /no credentials/,
    fix: /credentials/,
  },
  {
    what: "a method named twice",
    yaml: after(inSite1, "        auth: [oauth, oauth] # here"),
    path: `${site1}.auth[1]`,
    message: /twice/,
    fix: /remove/,
  },
  {
    what: "a site without credentials and without keys",
    yaml: edited([
      inSite3,
      `      S9: { decimals: [a] } # here
${inSite3}`,
    ]),
    path: "environments.sandbox.sites.S9",
    message: /neither credentials nor keys/,
    fix: /credentials.*keys/,
  },
  {
    what: "a version that YAML read as a number",
    yaml: after(inSite1, "        version: 3.0 # here"),
    path: `${site1}.version`,
    message: /number/,
    fix: /"3\.0".*|quotes/,
  },
  {
    what: "a key's version that YAML read as a number",
    yaml: instead(key, "          - { identifier: K2000000001, version: 3.0, secret: { file: DIR/k1 } } # here"),
    path: `${site3}.keys[0].version`,
    message: /number/,
    fix: /quotes/,
  },
  ...["version", "site_identifier", "timestamp"].map((name) => ({
    what: `${name} exempt from the signature`,
    yaml: after(inSite3, `        exempt: [format, ${name}] # here`),
    path: `${site3}.exempt[1]`,
    message: /must be signed/,
    fix: /5\.2/,
  })),
];

itRefuses("sites that cannot authenticate", authentication);
