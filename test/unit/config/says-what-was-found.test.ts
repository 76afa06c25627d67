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

const expanded = "nothing is expanded in this file; write";
const literal = `${expanded} the value itself … only secrets are named by { file } or { env }`;

/** As a shell would write it. */
const inBraces = (name: string) => ["$", "{", name, "}"].join("");

itRefuses("text that something else was to replace", [
  fault(instead(baseUrl, `baseUrl: ${inBraces("BASE_URL")}`), `.baseUrl: ${literal}`),
  fault(withListener(`bind: ":${inBraces("PORT:-1")}", environment: sandbox`), `listeners[0].bind: ${literal}`),
  fault(instead(lineOfSite3, `${inBraces("SITE")}:`), `.sites.${inBraces("SITE")}: ${literal}`),
  fault(withSet('name: blue, dir: "$(NAME)/x"'), `${site1}.credentials[0].dir: ${literal}`),
  fault(withSecret(`{ file: "/run/${inBraces("NAME")}" }`), `${site3}.keys[0].secret.file: ${literal}`),
  fault(
    withSecret(`"${inBraces("K1:-canary-default")}"`),
    `${site3}.keys[0].secret: ${expanded} { env: K1 } in its place`,
  ),
  fault(withSecret("{ env: $K1 }"), `${site3}.keys[0].secret.env: without $ … write { env: K1 }`),
  fault(withSecret(`{ env: "${inBraces("K1")}" }`), `${site3}.keys[0].secret.env: without $ … write { env: K1 }`),
  fault(withSecret(inBraces("K1")), ": nothing is expanded in this file … { file: /path } or { env: NAME }"),
]);

const ofSet = (set: string) => withSet(`name: blue, ${set}`);
const ways = "write anyone, or each caller's name and what proves it: { NAME: ";
const callers = (who: string) => withListener(`bind: ":7411", environment: sandbox, callers: ${who}`);

itRefuses("what is nearly right", [
  fault(
    ofSet("clientId: a, audience: b"),
    `${site1}.credentials[0].clientSecret: clientSecret is missing … clientSecret: { file: /path }`,
  ),
  fault(callers("[anyone]"), `listeners[0].callers: this cannot be a list; ${ways}`),
  fault(callers("all"), `listeners[0].callers: this value is not known; ${ways}`),
  fault(instead(operations, "operations: [*]"), ': a * without quotes begins an alias … ["*"]'),
  fault(instead(operations, "operations: *"), ': a * without quotes begins an alias … ["*"]'),
  fault(instead(operations, 'operations: "*"'), '.operations: must be a list … ["*"]'),
  fault(instead(operations, "operations: create_order"), ".operations: must be a list … [create_order]"),
  fault(
    withListener('bind: "127.0.0.1:99999", environment: sandbox'),
    "listeners[0].bind: 99999 is more than 65535 … up to 65535",
  ),
  fault(
    instead(authUrl, "authUrl: https://login.sandbox.example/a/oauth/token/"),
    ".authUrl: adds itself … write https://login.sandbox.example/a",
  ),
  fault(
    at("  sandbox:\n", edited([operations, ""])),
    '.operations: operations is missing … add a list, like ["create_order"]',
  ),
  fault(
    at("listeners:\n", edited([status, ""])),
    'status: status is missing … add a mapping, like {"bind":"127.0.0.1:7413"}',
  ),
  fault(
    at("  sandbox:\n", edited([authUrl, ""])),
    ".authUrl: missing: site S1000000001 has credentials … HMAC alone needs none",
  ),
]);
