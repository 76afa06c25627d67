/** Mistakes of newcomers: each gets its own sentence that says what was found, what is allowed and what to write. */
import { truncateSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { describeProblem, formatProblems } from "../../../src/config/diagnostics.ts";
import { readAtOnce } from "../../../src/config/files/file-system.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { ConfigFolder, edited, sound } from "../../../testkit/config-folder.ts";
import {
  admin,
  at,
  atTheEnd,
  authUrl,
  baseUrl,
  blue,
  fault,
  inSandbox,
  inSite1,
  instead,
  itRefuses,
  lineOfSite1,
  lineOfSite3,
  listener,
  operations,
  redisWith,
  site1,
  site3,
  withListener,
  withSecret,
  withSet,
  withSite,
} from "./refusal.ts";

const expanded = "nothing is expanded in this file; write";
const literal = `${expanded} the value itself … only secrets are named by { file } or { env }`;

const secret = `${site3}.keys[0].secret`;
/** A shell variable, as a shell would write it. */
const inBraces = (name: string) => ["$", "{", name, "}"].join("");

itRefuses("text that something else was to replace", [
  fault(instead(baseUrl, `baseUrl: ${inBraces("BASE_URL")}`), `.baseUrl: ${literal}`),
  fault(withListener(`bind: ":${inBraces("PORT:-1")}", environment: sandbox`), `listeners[0].bind: ${literal}`),
  fault(instead(lineOfSite3, `${inBraces("SITE")}:`), `.sites.${inBraces("SITE")}: ${literal}`),
  fault(withSet('name: blue, dir: "$(NAME)/x"'), `${site1}.credentials[0].dir: ${literal}`),
  fault(withSecret(`{ file: "/run/${inBraces("NAME")}" }`), `${secret}.file: ${literal}`),
  fault(withSecret(`"${inBraces("K1:-canary-default")}"`), `${secret}: ${expanded} { env: K1 } in its place`),
  fault(withSecret("{file:DIR/canary}"), `${secret}: where the secret is … put a colon and a blank after file`),
  fault(withSecret("{ env: $K1 }"), `${secret}.env: without $ … write { env: K1 }`),
  fault(withSecret(`{ env: "${inBraces("K1")}" }`), `${secret}.env: without $ … write { env: K1 }`),
  fault(withSecret(inBraces("K1")), ": nothing is expanded in this file … { file: /path } or { env: NAME }"),
]);

const ways = "write anyone, or each caller's name and what proves it: { NAME: ";
const callers = (who: string, said: string) =>
  fault(withListener(`bind: ":7411", environment: sandbox, callers: ${who}`), `listeners[0].callers: ${said}; ${ways}`);
const withOperations = (written: string, said: string) => fault(instead(operations, `operations: ${written}`), said);
const without = (line: string, around: string, said: string) => fault(at(around, edited([line, ""])), said);

itRefuses("what is nearly right", [
  fault(
    withSet("name: blue, clientId: a, audience: b"),
    `${site1}.credentials[0].clientSecret: clientSecret is missing … clientSecret: { file: /path }`,
  ),
  fault(
    withListener("bind: /run/cs.sock, environment: sandbox"),
    "listeners[0].bind: a path … write unix:/run/cs.sock",
  ),
  fault(withListener("bind: 7411, environment: sandbox"), "listeners[0].bind: as a number … write 127.0.0.1:7411"),
  fault(
    withListener('bind: "127.0.0.300:7411", environment: sandbox'),
    "listeners[0].bind: no IPv4 address … four numbers up to 255",
  ),
  fault(withListener('bind: "7411", environment: sandbox'), "listeners[0].bind: no host … write 127.0.0.1:7411"),
  fault(
    withListener("bind: 127.0.0.1, environment: sandbox"),
    "listeners[0].bind: no port … add a port, like 127.0.0.1:7411",
  ),
  fault(withListener('bind: "::1:7411", environment: sandbox'), "listeners[0].bind: in brackets … write [::1]:7411"),
  fault(
    withListener('bind: "http://127.0.0.1:7411", environment: sandbox'),
    "listeners[0].bind: URL and no address … write 127.0.0.1:7411",
  ),
  fault(withListener("bind: '7411:7411', environment: sandbox"), "listeners[0].bind: no host … write 127.0.0.1:7411"),
  fault(withListener("bind: tcp://:7411, environment: sandbox"), "listeners[0].bind: URL and no address … write :7411"),
  callers("[anyone]", "this cannot be a list"),
  callers("all", "this value is not known"),
  withOperations("[*]", ': a * without quotes begins an alias … ["*"]'),
  withOperations("*", ': a * without quotes begins an alias … ["*"]'),
  withOperations('"*"', '.operations: must be a list … ["*"]'),
  withOperations("create_order", '.operations: must be a list … ["create_order"]'),
  fault(
    withListener('bind: ":99999", environment: sandbox'),
    "listeners[0].bind: 99999 is more than 65535 … up to 65535",
  ),
  fault(
    withListener('bind: "127.0.0.1:274110", environment: sandbox'),
    "listeners[0].bind: 274110 is more than 65535 … up to 65535",
  ),
  fault(
    atTheEnd("tracing: { otlp: { endpoint: http://127.0.0.1:4317 } }"),
    "tracing.otlp.endpoint: no path, and 4317 is the port of gRPC … like http://127.0.0.1:4318/v1/traces",
  ),
  fault(
    instead(authUrl, "authUrl: https://a.example/b/oauth/token/"),
    ".authUrl: adds itself … write https://a.example/b",
  ),
  without(operations, "  sandbox:\n", '.operations: operations is missing … add a list, like ["create_order"]'),
  fault(
    at(admin, edited([`listeners:\n${listener}`, ""])),
    'listeners: listeners is missing … add a list, like [{"bind":"127.0.0.1:7411","environment":"sandbox"}]',
  ),
  without(admin, "listeners:\n", 'admin: admin is missing … add a mapping, like {"bind":"127.0.0.1:7412"}'),
  without(authUrl, "  sandbox:\n", ".authUrl: missing: site S1000000001 has credentials … HMAC alone needs none"),
]);

itRefuses("the beginning or an abbreviation of a key", [
  fault(redisWith("url: redis://a, user: u"), "redis.user: no key user here; did you mean username?"),
  fault(redisWith("url: redis://a, pass: u"), "redis.pass: no key pass here; did you mean password?"),
  fault(redisWith("url: redis://a, keys: [u]"), "redis.keys: no key keys here; did you mean encryptionKeys?"),
  fault(inSandbox("tls: { ca: a }"), ".tls.ca: no key ca here; did you mean caFile?"),
  fault(atTheEnd("limits: { inFlight: 5 }"), "limits.inFlight: did you mean inFlightPerEnvironment?"),
  fault(atTheEnd("limits: { in_flight: 5 }"), "limits.in_flight: did you mean inFlightPerEnvironment?"),
  fault(atTheEnd("limits: { maxBodyBytes: 5 }"), "limits.maxBodyBytes: did you mean bodyBytes?"),
  fault(atTheEnd("limits: { maxInFlight: 5 }"), "limits.maxInFlight: did you mean inFlightPerEnvironment?"),
  fault(atTheEnd("logging: { level: debug }"), "logging: no key logging here; did you mean log?"),
  fault(inSandbox("tokenUrl: https://a.example/token"), ".tokenUrl: no key tokenUrl here; did you mean token?"),
  fault(atTheEnd("acknowledge: [ hmac ]"), "acknowledge[0]: did you mean hmac_for_existing_clients?"),
  fault(atTheEnd("limits: { body: 5 }"), "limits.body: did you mean bodyBytes?"),
  ...["re", "s", "tok", "redirect", "cachet", "ad", "is", "logs_of_all"].map((word) =>
    fault(atTheEnd(`limits: { ${word}: 5 }`), `limits.${word}: no key ${word} here; remove it`),
  ),
]);

const figure = (line: string, said: string) => fault(atTheEnd(line), said);
const undecided = (given: string, said: string) => fault(inSandbox(`undecided: ${given}`), `.undecided${said}`);

itRefuses("figures out of range", [
  figure("timeouts: { request: 20 }", 'timeouts.request: this as a number … ms, s, m or h, like "20s"'),
  figure("timeouts: { request: 20 s }", "timeouts.request: 20s"),
  figure("timeouts: { request: 1h }", "timeouts.request: 1h is more than 10m, the most … from 100ms to 10m"),
  figure("timeouts: { connect: 1ms }", "timeouts.connect: 1ms is less than 10ms, the least … from 10ms to 1m"),
  figure("timeouts: { token: 2m }", "timeouts.token: 10ms to 1m"),
  figure("limits: { inFlightPerEnvironment: 0 }", "limits.inFlightPerEnvironment: from 1 to 100000"),
  figure("limits: { connections: 1000000 }", "limits.connections: 1000000 is more than 100000 … from 1 to 100000"),
  figure('limits: { connections: "100" }', "limits.connections: without quotes or unit … from 1 to 100000"),
  figure("limits: { connections: 30s }", "limits.connections: without quotes or unit … from 1 to 100000"),
  figure("limits: { bodyBytes: 1.5 }", "limits.bodyBytes: whole number"),
  figure("limits: { bodyBytes: 1 }", "limits.bodyBytes: 1 is less than 1024 … from 1024 to"),
  figure("limits: { bodyBytes: 1073741824 }", "limits.bodyBytes: from 1024 to 16777216"),
  figure("drain: { min: 61m }", "drain.min: 0s to 1h"),
  figure("log: { level: verbose }", "log.level: info"),
  figure('log: { level: "" }', "log.level: not known … write trace or debug"),
  figure("reload: { unreadyAfterRefusal: 999ms }", "reload.unreadyAfterRefusal: 1s to 1h"),
  figure("reload: { unreadyAfterRefusal: 61m }", "reload.unreadyAfterRefusal: 1s to 1h"),
  figure("readiness: maybe", "readiness: listening or token"),
  undecided("[404]", "[0]: 404 is less than 500 … write a number from 500 to 599"),
  undecided("[502, 600]", "[1]: 600 is more than 599 … write a number from 500 to 599"),
  undecided("[502.5]", "[0]: must be a whole number … write a whole number"),
  undecided('["502"]', "[0]: must be a number … write a number"),
  undecided("502", ": must be a list … write a list, like [502]"),
  undecided("{ a: 502 }", ": must be a list … write a list, like [500]"),
]);

/** Ten times ten times ten copies of one text. */
const explosion = `a: &a [x, x, x, x, x, x, x, x, x, x]
b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
c: [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
`;

const twice = "is given twice; it is at line … , column … too; keep one of the two";

const dash = ": this item of a list has no dash, unlike that at line … begin it with -";
const secondItem = "is given twice … keep one of the two, or begin a new item with - here";
const items = (text: string, said: string) => fault(edited([listener, text]), said);

itRefuses("a dash that is missing", [
  items('  bind: ":1" # here\n  environment: sandbox\n  - bind: ":2"\n    environment: canary\n', dash),
  items('    bind: ":1" # here\n    environment: sandbox\n  - bind: ":2"\n    environment: canary\n', dash),
  items('  bind: ":1" # here\n  environment: sandbox\n- bind: ":2"\n', dash),
  items('  bind: ":1" # here\n  mtls:\n    caFile: a\n  - bind: ":2"\n', dash),
  items('  - bind: ":1"\n    mtls: {}\n    - bind: ":2" # here\n', ": A block sequence … begin the items of one list"),
  items('  - bind: ":1"\n    mtls: {}\n    bind: ":2" # here\n', `: the key … ${secondItem}`),
  items('  - bind: ":1"\n    mtls: {}\n  -bind: ":2" # here\n', ": this item has no blank after its - … put one"),
  items('  -bind: ":1" # here\n   mtls: {}\n  -bind: ":2"\n', ": this item has no blank after its - … put one"),
]);

itRefuses("surprising YAML", [
  fault(inSandbox("operations: [other]"), `: the key … ${twice}`),
  fault(withSecret("{ file: DIR/k1, file: DIR/canary }"), `: the key … ${twice}`),
  fault(`${sound}--- # here\nlog: { level: debug }\n`, ": a second YAML document begins here … keep one"),
  fault(atTheEnd("log:\n\t- canary"), ": not valid YAML: Tabs … indent with blanks"),
  fault(edited([operations, "\toperations: [canary] # here\n"]), ": not valid YAML: Tabs … indent with blanks"),
  fault(atTheEnd("readiness:canary"), ": Implicit map keys … a blank after the colon"),
  fault(instead(authUrl, "authUrl: canary: b"), ": this has a colon and no quotes … put it in quotes"),
  fault(
    edited([authUrl, ` ${authUrl.replace("\n", " # here\n")}`]),
    ": keys at line 7, column 5 and at line 8, column 6 begin at different columns … indent",
  ),
  fault(
    edited(
      [operations, "  operations: [canary]\n"],
      ["    defaultSite: S1000000001\n", "    defaultSite: canary # here\n"],
    ),
    ": keys at line 9, column 3 and at line 10, column 5 begin at different columns … indent",
  ),
  fault(
    edited([baseUrl, `  ${baseUrl}`], [authUrl, authUrl.replace("\n", " # here\n")]),
    ": keys at line 7, column 7 and at line 8, column 5 begin at different columns … indent",
  ),
  fault(
    edited([operations, "    operations: [canary, { a: [1] # here\n"]),
    ": the { here is not closed before line 10, column 5 … with }",
  ),
  fault(
    edited([operations, "    operations: [canary } # here\n"]),
    ": the [ here is not closed before line 9, column 25 … with ]",
  ),
  fault(
    edited([operations, "    operations: { a: 'canary]', b: [x] # here\n"]),
    ": the { here is not closed before line 10, column 5 … with }",
  ),
  fault(atTheEnd("log: { level: 'canary }"), ": the ' here is not closed before line 19, column 1 … with '"),
  fault(withSecret("*canary"), ": leads nowhere … YAML"),
  fault(inSandbox("tls: &canary { caFile: *canary }"), ": into itself … YAML"),
  fault(at("listeners:\n", `${sound}${explosion}`), ": too many aliases … YAML"),
  fault(withSecret("!canary x"), ": Unresolved tag … YAML"),
  fault(`%YAML 1.1 # here\n---\n${sound}`, ": only YAML 1.2 … YAML"),
  fault(`%YAML 1.1 # here\n---\n${sound}canary: { <<: 5 }\n`, ": only YAML 1.2 … YAML"),
  fault(withSite("__proto__: {}"), ": __proto__ … YAML"),
  fault(withSite("<<: { S9: {} }"), ": merge keys (<<) are not read; write the keys out"),
  fault(withSite("1000000001: {}"), ".sites.1000000001: not allowed … write S and"),
]);

const noColon = ": this key lacks a colon, or the blank after it … write key: value";
const noComma = ": a comma is missing here … put one comma between the items";

// The parser reports everything behind such a mark as unexpected.
itRefuses("one mark too many or too few in YAML, with one problem", [
  fault(instead(operations, "operations: [create_order]]"), ": this ] closes nothing … remove it"),
  fault(instead(admin, 'admin: { bind: ":7412" }}'), ": this } closes nothing … remove it"),
  fault(withListener('bind: ":7411", environment: sandbox }'), ": this } closes nothing … remove it"),
  fault(atTheEnd("}"), ": this } closes nothing … remove it"),
  fault(instead(admin, 'admin { bind: ":7412" }'), noColon),
  fault(instead(admin, 'admin:{ bind: ":7412" }'), noColon),
  fault(instead(admin, 'admin = { bind: ":7412" }'), noColon),
  fault(instead(baseUrl, "baseUrl https://canary.example"), noColon),
  fault(instead("  sandbox:\n", "sandbox"), noColon),
  fault(instead(operations, "operations [create_order]"), noColon),
  fault(instead(admin, 'admin: `{ bind: ":7412" }'), ": no text begins with ` … remove it, or put the text in quotes"),
  fault(instead(operations, "operations: @canary"), ": no text begins with @ … in quotes"),
  fault(instead(admin, 'admin: { bind: ":7412" };'), ": the value ends before this … remove this, or"),
  fault(instead(baseUrl, 'baseUrl: "https://a.example"canary'), ": the value ends before this … in quotes"),
  fault(instead(admin, 'admin: { bind: ":7412 }'), ': the " here is not closed before line 3, column 31 … with "'),
  fault(withListener('bind: ":7411" environment: sandbox'), noComma),
  fault(withSet("name: blue; dir: canary"), noComma),
  fault(withSet("name: blue, dir: canary: b"), ": Block collections … put a text with a colon in quotes"),
  fault(instead(listener, '-{ bind: ":7411", environment: sandbox }'), ": this item has no blank after its -"),
  fault(`acknowledge:\n    - secret_short\n   - until_past # here\n${sound}`, ": A block sequence … at one column"),
  fault(`//# here canary\n${sound}`, ": a comment begins with # … write # in place of //"),
]);

const moved = (line: string, by: number) => edited([line, `${line.slice(by).replace("\n", "")} # here\n`]);
const emptied = edited([/ {4}baseUrl.*/s.exec(sound)?.[0] ?? "", ""]);
const ofEnvironment = `${authUrl}${operations}    sites: {}\n`.replaceAll(/^ {2}/gm, "");
const credentials = "        credentials:\n";

itRefuses("a block that is indented too little, with one problem", [
  fault(
    moved("    sites:\n", 2),
    "environments.sites: sites belongs below sandbox; indent sites deeper than sandbox (line 6)",
  ),
  fault(
    at(
      "    S1000000001:\n",
      sound.replace(/(?<=sites:\n).*/s, (all) => all.replace(/^ {2}/gm, "")),
    ),
    ".S1000000001: belongs below sites; indent S1000000001, S1000000003 deeper than sites (line 11)",
  ),
  fault(
    moved("  sandbox:\n", 2),
    "sandbox: belongs below environments; indent sandbox deeper than environments (line 5)",
  ),
  fault(
    moved(credentials, 2),
    ".sites.credentials: belongs below S1000000001; indent credentials deeper than S1000000001 (line 12)",
  ),
  fault(
    `${emptied}  baseUrl: https://canary.example # here\n${ofEnvironment}`,
    "environments.baseUrl: baseUrl belongs below sandbox; indent baseUrl, authUrl, operations and 1 more deeper than sandbox (line 6)",
  ),
  fault(atTheEnd("redis:\nurl: canary"), "url: url belongs below redis; indent url deeper than redis (line 18)"),
]);

const noBreak = "\u00a0";

itRefuses("what looks like a blank, a quote or nothing", [
  fault(
    edited([authUrl, `${noBreak.repeat(4)}authUrl: https://login.sandbox.example # here\n`]),
    ": no-break space (U+00A0) … replace the no-break space (U+00A0) by a blank",
  ),
  fault(
    instead(authUrl, "auth\u200bUrl: https://login.sandbox.example"),
    ": zero-width space (U+200B) … remove the zero-width space (U+200B)",
  ),
  fault(
    instead(authUrl, `authUrl:${noBreak}https://login.sandbox.example`),
    ": no-break space … replace the no-break space",
  ),
  fault(
    withListener("bind: \u201c:7411\u201d, environment: sandbox"),
    ": \u201c (U+201C) … write the character of ASCII: \" ' - or :",
  ),
  fault(
    instead(listener, '\u2013 { bind: ":7411", environment: sandbox }'),
    ": \u2013 (U+2013) … write the character of",
  ),
  fault(
    instead(authUrl, "authUrl\uff1ahttps://login.sandbox.example"),
    ": \uff1a (U+FF1A) … write the character of ASCII",
  ),
  fault(instead(authUrl, "\u0430uthUrl: https://canary"), ".\u0430uthUrl: \u0430 (U+0430) at character 1 … authUrl?"),
  fault(
    withListener('bind: "127.0.0.1:7411\u200b", environment: sandbox'),
    "listeners[0].bind: U+200B) at character 15",
  ),
  fault(withListener('bind: ":7411", environment: "s\u0430ndbox"'), "listeners[0].environment: U+0430) at character 2"),
]);

test("a place of such a character is the character's", async () => {
  const problems = await new ConfigFolder().problemsOf(
    instead(authUrl, "auth\u200bUrl: https://login.sandbox.example"),
  );
  expect(problems).toMatchObject([{ line: 8, column: 9 }]);
});

test.each([
  `resource: { "a${noBreak}b": 'it''s\u200b${noBreak}', "c": "say \\"\u201chi\u201d\u200b\\"" }`,
  "resource: { a: it\u2019s, b: la \u00ab une \u00bb, c: \u2764\ufe0f, d: \u0645\u06cc\u200c\u062e } # 1\u00a0\u201c",
  "# it's\u200b\n  serviceName: a",
])("such a character may stand in a text in quotes, in a comment and in a word: %s", async (line) => {
  const yaml = `${sound}tracing:\n  otlp: { endpoint: "https://otlp.example/v1/traces" }\n  ${line}\n`;
  const problems = await new ConfigFolder().problemsOf(yaml);
  expect(problems.filter(({ path }) => !path.startsWith("tracing.resource."))).toEqual([]);
});

const address = (part: string, url: string) =>
  fault(instead(baseUrl, `baseUrl: ${url}`), `.baseUrl: ${part} … plain host`);

itRefuses("an address, and says which part of it is wrong", [
  address("has a query", "https://api.example/json-api?a=canary"),
  address("has a user or a password", "https://canary:b@api.example"),
  address("has a blank", '"https://api.example/json api"'),
  address("has a blank", '"https://api.example "'),
  address("no scheme", "api.example/json-api"),
  address("not two slashes", "https:/api.example/json-api"),
  address("no scheme", "localhost:7421"),
  address("another scheme", "ftp://api.example"),
  address("a fragment", '"https://api.example/#a"'),
  address("the path", "https://api.example/a/../b"),
  address("the host or the port", "https://api.example:0"),
]);

const written = (said: string, yaml: string, files = {}) => fault(yaml, said, files);

itRefuses("values, with a fix that can be followed", [
  written(`${site1}.auth: must be a list … write a list, like ["oauth"]`, inSite1("auth: oauth")),
  written('log.upstreamHeaders: must be a list … like ["x-id"]', atTheEnd("log: { upstreamHeaders: x-id }")),
  written("redis.encryptionKeys: must be a list … write a list", redisWith("url: redis://a, encryptionKeys: canary")),
  written(
    `${site1}: is empty … write its settings; possible keys: credentials, version, auth`,
    edited([`${lineOfSite1}        credentials:\n${blue}`, "      S1000000001: # here\n"]),
  ),
  written(
    '.sites: must be a mapping … without "- ": { S1000000001: … }',
    sound.replace(/ {4}sites:[\s\S]*/, "    sites: [ { S1000000001: {} } ] # here\n"),
  ),
  written(
    'environments: must be a mapping … without "- ": { sandbox: … }',
    sound.replace(/environments:[\s\S]*/, "environments: [ { baseUrl: a } ] # here\n"),
  ),
  written('admin: must be a mapping … {"bind":"127.0.0.1:7412"}', instead(admin, 'admin: "127.0.0.1:7412"')),
  written(
    `${site1}.credentials[0].clientId: does not go with dir … remove clientId, or remove dir; with clientId can stand clientSecret, audience`,
    withSet("name: blue, dir: DIR/blue, clientId: a"),
  ),
  written(
    `${site1}.credentials[0].dir: not one line of printable text: blank (U+0020) at character 1 … write file … again without that`,
    at(blue, sound),
    { "blue/audience": " https://api" },
  ),
  written(
    `${site1}.credentials[0].dir: not one line of printable text … write file … again with printable ASCII alone, and no blank in it`,
    at(blue, sound),
    { "blue/audience": "https://api b" },
  ),
  written(
    ".sites.folder: cannot be read (ENOENT) … create the folder, or correct the path: /",
    sound.replace(/ {4}sites:[\s\S]*/, "    sites: { folder: sites.d } # here\n"),
  ),
]);

test.each([
  ["tokens: { cache: redis }\n", ""],
  ["once: {}\n", "tokens: { cache: redis }\n"],
])("the fix for a missing Redis works when it is followed: %s", async (yaml, more) => {
  const folder = new ConfigFolder();
  const [problem, ...others] = await folder.problemsOf(`${sound}${yaml}`);
  expect(others).toEqual([]);
  const [, section] =
    /(redis: \{.*\}), and make the file: countersign keygen >token-key$/.exec(problem?.fix ?? "") ?? [];
  if (more !== "") expect(problem?.fix).toContain(`add ${more.trim()}`);
  expect(await folder.problemsOf(`${sound}${yaml}${more}${section}\n`)).toEqual([]);
});

test("a missing file is named in full, with how to name another, and without a line", async () => {
  const loaded = await loadConfig("none/countersign.yaml");
  if (loaded.kind === "loaded") throw new Error("nothing is there");
  const printed = formatProblems("none/countersign.yaml", loaded.problems);
  expect(printed.split("\n")).toEqual([
    `none/countersign.yaml  the configuration file cannot be read (ENOENT): ${resolve("none/countersign.yaml")}`,
    "    fix    give the path of a readable YAML file, by --config FILE or COUNTERSIGN_CONFIG",
  ]);
  expect(loaded.problems.map(describeProblem)).toEqual([expect.stringMatching(/^the configuration file/)]);
});

test("a fault is printed with what was found and how to fix it", async () => {
  const problems = await new ConfigFolder().problemsOf(withSite("S9: { version: 3.0 }"));
  const printed = formatProblems("countersign.yaml", problems);
  expect(printed.split("\n")).toEqual([
    "countersign.yaml:12:13  environments.sandbox.sites.S9.version: YAML read this as a number",
    "    found  3.0",
    '    fix    write it in quotes, like "3.0"',
  ]);
});

describe("a file that is no configuration at all", () => {
  test.each(["", "- a\n", "canary\n"])("%j", async (yaml) => {
    const problems = await new ConfigFolder().problemsOf(yaml);
    const fix = "write a mapping with listeners, admin, environments";
    const message = yaml === "" ? "the file is empty" : "this must be a mapping";
    expect(problems).toMatchObject([{ path: "", line: 1, column: 1, message, fix }]);
    expect(JSON.stringify(problems)).not.toContain("canary");
  });

  test("an empty mapping", async () => {
    const problems = await new ConfigFolder().problemsOf("{}\n");
    expect(problems.map(({ path }) => path)).toEqual(["listeners", "admin", "environments"]);
  });

  test("bytes that are not UTF-8", async () => {
    const readFile = async () => ({ bytes: Buffer.from([0xff, 0xfe, 0x41]), mode: 0o600, stamp: "" });
    const problems = await new ConfigFolder().problemsOf("", { readFile });
    expect(problems).toMatchObject([{ message: expect.stringContaining("not UTF-8") }]);
  });

  test.each([
    { when: "at the start", around: { readFile: readAtOnce } },
    { when: "at a reload", around: {} },
  ])("a file that would fill the memory, $when", async ({ around }) => {
    const folder = new ConfigFolder();
    const endless = folder.write("endless", "");
    truncateSync(endless, 16 * 1_048_576 + 1);
    const message = `the configuration file is longer than 16 MiB: ${endless}`;
    expect(await loadConfig(endless, around)).toMatchObject({ problems: [{ path: "", message }] });
    const named = folder.write("countersign.yaml", sound.replaceAll("DIR/k1", endless).replaceAll("DIR", folder.path));
    const problems = [{ message: "the file cannot be read (EFBIG)", fix: `name a file of at most 16 MiB: ${endless}` }];
    expect(await loadConfig(named, around)).toMatchObject({ problems });
  });
});
