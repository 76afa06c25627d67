/** What newcomers write: each gets a sentence of its own that says what was found, what is allowed and what to write. */
import { atTheEnd, blue, instead, itRefuses, key, listener, type Refusal, site1, site3 } from "./refusal.ts";

const secretOf = (source: string) => instead(key, `          - { identifier: K2000000001, secret: ${source} } # here`);
const baseUrl = "    baseUrl: https://api.sandbox.example/json-api\n";
const authUrl = "    authUrl: https://login.sandbox.example\n";
const operations = "    operations: [create_order]\n";
const expanded = /^nothing is expanded in this file$/;
const literal = /^write the value itself.*only secrets are named by \{ file \} or \{ env \}$/;

/** As a shell would write it. */
const inBraces = (name: string) => ["$", "{", name, "}"].join("");

type Row = readonly [what: string, yaml: string, path: string, message: RegExp, fix: RegExp];
const refusals = (rows: readonly Row[]): Refusal[] =>
  rows.map(([what, yaml, path, message, fix]) => ({ what, yaml, path, message, fix }));

itRefuses(
  "text that something else was to replace",
  refusals([
    [
      "an address",
      instead(baseUrl, `    baseUrl: ${inBraces("BASE_URL")} # here`),
      "environments.sandbox.baseUrl",
      expanded,
      literal,
    ],
    [
      "a port",
      instead(listener, `  - { bind: ":${inBraces("PORT:-1")}", environment: sandbox } # here`),
      "listeners[0].bind",
      expanded,
      literal,
    ],
    [
      "a name",
      instead("      S1000000003:\n", `      ${inBraces("SITE")}: # here`),
      `environments.sandbox.sites.${inBraces("SITE")}`,
      expanded,
      literal,
    ],
    [
      "a folder",
      instead(blue, '          - { name: blue, dir: "$(NAME)/x" } # here'),
      `${site1}.credentials[0].dir`,
      expanded,
      literal,
    ],
    ["a path", secretOf(`{ file: "/run/${inBraces("NAME")}" }`), `${site3}.keys[0].secret.file`, expanded, literal],
    [
      "a secret",
      secretOf(`"${inBraces("K1:-canary-default")}"`),
      `${site3}.keys[0].secret`,
      expanded,
      /^write \{ env: K1 \} in its place/,
    ],
    [
      "a variable's name",
      secretOf("{ env: $K1 }"),
      `${site3}.keys[0].secret.env`,
      /without \$$/,
      /^write \{ env: K1 \}$/,
    ],
    [
      "a name in braces",
      secretOf(`{ env: "${inBraces("K1")}" }`),
      `${site3}.keys[0].secret.env`,
      /without \$$/,
      /^write \{ env: K1 \}$/,
    ],
    [
      "a value within braces of YAML",
      secretOf(`${inBraces("K1")}`),
      "",
      /nothing is expanded in this file/,
      /\{ file: \/path \} or \{ env: NAME \}/,
    ],
  ]),
);

const ofSet = (set: string) => instead(blue, `          - { name: blue, ${set} } # here`);
const ways = /^write anyone, or each caller's name and what proves it: \{ NAME: /;
const callers = (who: string) =>
  instead(listener, `  - { bind: ":7411", environment: sandbox, callers: ${who} } # here`);

itRefuses(
  "what is nearly right",
  refusals([
    [
      "no client secret",
      ofSet("clientId: a, audience: b"),
      `${site1}.credentials[0].clientSecret`,
      /^clientSecret is missing$/,
      /clientSecret: \{ file: \/path \}/,
    ],
    ["callers in a list", callers("[anyone]"), "listeners[0].callers", /^this cannot be a list$/, ways],
    ["another word for anyone", callers("all"), "listeners[0].callers", /^this value is not known$/, ways],
    [
      "* without quotes",
      instead(operations, "    operations: [*] # here"),
      "",
      /^a \* without quotes begins an alias/,
      /\["\*"\]/,
    ],
    [
      "* alone",
      instead(operations, "    operations: * # here"),
      "",
      /^a \* without quotes begins an alias/,
      /\["\*"\]/,
    ],
    [
      "* and no list",
      instead(operations, '    operations: "*" # here'),
      "environments.sandbox.operations",
      /must be a list/,
      /\["\*"\]/,
    ],
    [
      "one operation and no list",
      instead(operations, "    operations: create_order # here"),
      "environments.sandbox.operations",
      /must be a list/,
      /\[create_order\]/,
    ],
    [
      "a port too high",
      instead(listener, '  - { bind: "127.0.0.1:99999", environment: sandbox } # here'),
      "listeners[0].bind",
      /^99999 is more than 65535/,
      /up to 65535/,
    ],
    [
      "a duration too long",
      atTheEnd("timeouts: { request: 2h } # here"),
      "timeouts.request",
      /^2h is more than 600s, the most/,
      /from 100ms to 600s/,
    ],
    [
      "a duration too short",
      atTheEnd("timeouts: { connect: 1ms } # here"),
      "timeouts.connect",
      /^1ms is less than 10ms, the least/,
      /from 10ms to 60s/,
    ],
    [
      "a duration without unit",
      atTheEnd("timeouts: { token: 7 } # here"),
      "timeouts.token",
      /^7 has no unit$/,
      /ms, s, m or h, like "5s"/,
    ],
    [
      "a number too high",
      atTheEnd("limits: { connections: 9999999 } # here"),
      "limits.connections",
      /^9999999 is more than 100000/,
      /from 1 to 100000/,
    ],
    [
      "a number too low",
      atTheEnd("limits: { bodyBytes: 1 } # here"),
      "limits.bodyBytes",
      /^1 is less than 1024/,
      /from 1024 to/,
    ],
    [
      "a number in quotes",
      atTheEnd('limits: { connections: "100" } # here'),
      "limits.connections",
      /without quotes or unit/,
      /from 1 to 100000/,
    ],
    [
      "a number with a unit",
      atTheEnd("drain: { minSeconds: 30s } # here"),
      "drain.minSeconds",
      /without quotes or unit/,
      /from 0 to 3600/,
    ],
    [
      "the token path",
      instead(authUrl, "    authUrl: https://login.sandbox.example/a/oauth/token/ # here"),
      "environments.sandbox.authUrl",
      /adds itself/,
      /^write https:\/\/login\.sandbox\.example\/a$/,
    ],
    [
      "no operations",
      instead(operations, "").replace("  sandbox:\n", "  sandbox: # here\n"),
      "environments.sandbox.operations",
      /^operations is missing$/,
      /^add a list, like \["create_order"\]$/,
    ],
    [
      "no status page",
      instead('status: { bind: "127.0.0.1:7413" }\n', "").replace("listeners:\n", "listeners: # here\n"),
      "status",
      /^status is missing$/,
      /^add a mapping, like \{"bind":"127\.0\.0\.1:7413"\}$/,
    ],
    [
      "no authUrl",
      instead(authUrl, "").replace("  sandbox:\n", "  sandbox: # here\n"),
      "environments.sandbox.authUrl",
      /missing: site S1000000001 has credentials/,
      /HMAC alone needs none/,
    ],
  ]),
);
