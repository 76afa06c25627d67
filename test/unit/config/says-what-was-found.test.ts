/** What newcomers write: each gets a sentence of its own that says what was found, what is allowed and what to write. */
import { edited } from "../../../testkit/config-folder.ts";
import {
  at,
  authUrl,
  baseUrl,
  fault,
  instead,
  itRefuses,
  lineOfSite3,
  operations,
  site1,
  site3,
  status,
  withListener,
  withSecret,
  withSet,
} from "./refusal.ts";

const expanded = /^nothing is expanded in this file$/;
const literal = /^write the value itself.*only secrets are named by \{ file \} or \{ env \}$/;

/** As a shell would write it. */
const inBraces = (name: string) => ["$", "{", name, "}"].join("");

itRefuses("text that something else was to replace", [
  fault("an address", instead(baseUrl, `baseUrl: ${inBraces("BASE_URL")}`), [".baseUrl", expanded, literal]),
  fault("a port", withListener(`bind: ":${inBraces("PORT:-1")}", environment: sandbox`), [
    "listeners[0].bind",
    expanded,
    literal,
  ]),
  fault("a name", instead(lineOfSite3, `${inBraces("SITE")}:`), [`.sites.${inBraces("SITE")}`, expanded, literal]),
  fault("a folder", withSet('name: blue, dir: "$(NAME)/x"'), [`${site1}.credentials[0].dir`, expanded, literal]),
  fault("a path", withSecret(`{ file: "/run/${inBraces("NAME")}" }`), [
    `${site3}.keys[0].secret.file`,
    expanded,
    literal,
  ]),
  fault("a secret", withSecret(`"${inBraces("K1:-canary-default")}"`), [
    `${site3}.keys[0].secret`,
    expanded,
    /^write \{ env: K1 \} in its place/,
  ]),
  fault("a variable's name", withSecret("{ env: $K1 }"), [
    `${site3}.keys[0].secret.env`,
    /without \$$/,
    /^write \{ env: K1 \}$/,
  ]),
  fault("a name in braces", withSecret(`{ env: "${inBraces("K1")}" }`), [
    `${site3}.keys[0].secret.env`,
    /without \$$/,
    /^write \{ env: K1 \}$/,
  ]),
  fault("a value within braces of YAML", withSecret(inBraces("K1")), [
    "",
    /nothing is expanded in this file/,
    /\{ file: \/path \} or \{ env: NAME \}/,
  ]),
]);

const ofSet = (set: string) => withSet(`name: blue, ${set}`);
const ways = /^write anyone, or each caller's name and what proves it: \{ NAME: /;
const callers = (who: string) => withListener(`bind: ":7411", environment: sandbox, callers: ${who}`);

itRefuses("what is nearly right", [
  fault("no client secret", ofSet("clientId: a, audience: b"), [
    `${site1}.credentials[0].clientSecret`,
    /^clientSecret is missing$/,
    /clientSecret: \{ file: \/path \}/,
  ]),
  fault("callers in a list", callers("[anyone]"), ["listeners[0].callers", /^this cannot be a list$/, ways]),
  fault("another word for anyone", callers("all"), ["listeners[0].callers", /^this value is not known$/, ways]),
  fault("* without quotes", instead(operations, "operations: [*]"), [
    "",
    /^a \* without quotes begins an alias/,
    /\["\*"\]/,
  ]),
  fault("* alone", instead(operations, "operations: *"), ["", /^a \* without quotes begins an alias/, /\["\*"\]/]),
  fault("* and no list", instead(operations, 'operations: "*"'), [".operations", /must be a list/, /\["\*"\]/]),
  fault("one operation and no list", instead(operations, "operations: create_order"), [
    ".operations",
    /must be a list/,
    /\[create_order\]/,
  ]),
  fault("a port too high", withListener('bind: "127.0.0.1:99999", environment: sandbox'), [
    "listeners[0].bind",
    /^99999 is more than 65535/,
    /up to 65535/,
  ]),
  fault("the token path", instead(authUrl, "authUrl: https://login.sandbox.example/a/oauth/token/"), [
    ".authUrl",
    /adds itself/,
    /^write https:\/\/login\.sandbox\.example\/a$/,
  ]),
  fault("no operations", at("  sandbox:\n", edited([operations, ""])), [
    ".operations",
    /^operations is missing$/,
    /^add a list, like \["create_order"\]$/,
  ]),
  fault("no status page", at("listeners:\n", edited([status, ""])), [
    "status",
    /^status is missing$/,
    /^add a mapping, like \{"bind":"127\.0\.0\.1:7413"\}$/,
  ]),
  fault("no authUrl", at("  sandbox:\n", edited([authUrl, ""])), [
    ".authUrl",
    /missing: site S1000000001 has credentials/,
    /HMAC alone needs none/,
  ]),
]);
