/** Row 77: routes that could be read in two ways, that hide an operation, or that have no token to attach. */
import { expect, test } from "vitest";
import { ConfigFolder, edited } from "../../../testkit/config-folder.ts";
import { after, inSandbox, itRefuses, type Refusal } from "./refusal.ts";

const at = "environments.sandbox.passThrough[0]";
const withRoutes = (...routes: string[]) => after(inSandbox, `    passThrough: [ ${routes.join(", ")} ] # here`);
const withPrefix = (prefix: string, more = "") => withRoutes(`{ prefix: "${prefix}", methods: [GET]${more} }`);
const fault = (what: string, yaml: string, key: string, message: RegExp, fix: RegExp, count = 1): Refusal => ({
  what,
  yaml,
  path: key === "" ? at : `${at}.${key}`,
  message,
  fix,
  count,
});

itRefuses("pass-through routes", [
  fault("no slash at the end", withPrefix("/files"), "prefix", /./, /slash at both ends, like \/files\//),
  fault("every path", withPrefix("/"), "prefix", /./, /slash at both ends/),
  fault("a query", withPrefix("/files/?a/"), "prefix", /./, /slash at both ends/),
  ...["/files//", "/a/../b/", "/./", "/a%2fb/", "/%2e/", "/a;b/", "/a\\\\b/"].map((prefix) =>
    fault(
      `the prefix ${prefix}`,
      withPrefix(prefix),
      "prefix",
      /in another way|must|matches|string|form/i,
      /segments|slash/,
    ),
  ),
  fault(
    "dots at the service",
    withPrefix("/files/", ', upstreamPrefix: "/a/../b/"'),
    "upstreamPrefix",
    /another way/,
    /plain/,
  ),
  fault("an operation below it", withPrefix("/create_order/"), "prefix", /create_order is below/, /another prefix/),
  fault(
    "an operation below it at the service",
    withPrefix("/files/", ', upstreamPrefix: "/json-api/"'),
    "upstreamPrefix",
    /create_order is below this path at the service/,
    /no operation/,
  ),
  fault(
    "an operation in other letters",
    withPrefix("/Create_Order/"),
    "prefix",
    /create_order is below/,
    /another prefix/,
  ),
  fault(
    "an operation below it at the service, in other letters",
    withPrefix("/files/", ', upstreamPrefix: "/JSON-API/"'),
    "upstreamPrefix",
    /create_order is below this path at the service/,
    /no operation/,
  ),
  fault("the base path", withPrefix("/json-api/files/"), "prefix", /sent twice/, /leave \/json-api out/),
  fault("no method", withRoutes('{ prefix: "/files/", methods: [] }'), "methods", /./, /./),
  fault(
    "a method that never passes",
    withRoutes('{ prefix: "/files/", methods: [TRACE] }'),
    "methods[0]",
    /./,
    /write GET or HEAD/,
  ),
  fault(
    "a WebSocket without GET",
    withRoutes('{ prefix: "/files/", methods: [PUT], upgrade: websocket }'),
    "upgrade",
    /begins with a GET/,
    /add GET/,
  ),
  fault("a site that is not there", withPrefix("/files/", ", site: S9"), "site", /no such site/, /S1000000001/),
  fault(
    "a site with HMAC only",
    withPrefix("/files/", ", site: S1000000003"),
    "site",
    /does not use OAuth/,
    /S1000000001/,
  ),
  fault("a time without end", withPrefix("/files/", ", idleTimeout: 2h"), "idleTimeout", /more than 3600s/, /./),
  {
    what: "two routes of one prefix",
    yaml: withRoutes('{ prefix: "/files/", methods: [GET] }', '{ prefix: "/files/", methods: [PUT] }'),
    path: "environments.sandbox.passThrough[1].prefix",
    message: /two routes have this prefix/,
    fix: /methods of both/,
  },
  {
    what: 'routes beside operations: ["*"]',
    yaml: edited([
      inSandbox,
      '    operations: ["*"]\n    passThrough: [ { prefix: "/files/", methods: [GET] } ] # here\n',
    ]),
    path: "environments.sandbox.passThrough",
    message: /every path may be an operation/,
    fix: /name the operations/,
  },
]);

test("a route needs a prefix and methods; the rest has defaults, and the longest prefix comes first", async () => {
  const routes =
    '{ prefix: "/files/", methods: [GET, PUT] }, { prefix: "/files/live/", methods: [GET], upgrade: websocket, idleTimeout: 5m, site: S1000000001, upstreamPrefix: "/live/" }';
  const loaded = await new ConfigFolder().load(after(inSandbox, `    passThrough: [ ${routes} ]`));
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  expect(loaded.config.environments.get("sandbox")?.passThrough).toEqual([
    {
      prefix: "/files/live/",
      upstreamPrefix: "/live/",
      methods: new Set(["GET"]),
      site: "S1000000001",
      upgrade: "websocket",
      idleMs: 300_000,
    },
    {
      prefix: "/files/",
      upstreamPrefix: "/json-api/files/",
      methods: new Set(["GET", "PUT"]),
      site: undefined,
      upgrade: undefined,
      idleMs: 60_000,
    },
  ]);
});

const route = (prefix: string, upstreamPrefix: string) =>
  `{ prefix: "${prefix}", methods: [GET], upstreamPrefix: "${upstreamPrefix}" }`;

test.each([
  ["nested in another's", [route("/files/", "/v2/"), route("/live/", "/V2/live/")], [1]],
  ["the same", [route("/files/", "/v2/"), route("/live/", "/v2/")], [1]],
  ["below a longer prefix that leads elsewhere", [route("/files/", "/v2/"), route("/files/live/", "/v2/other/")], [1]],
  ["nested as the prefixes are", [route("/files/", "/v2/"), route("/files/live/", "/v2/live/")], []],
  ["beside each other", [route("/files/", "/v2/"), route("/live/", "/v3/")], []],
])(
  "paths at the service that are %s: warned of where a right to one prefix reaches the other's",
  async (_, routes, warned) => {
    const loaded = await new ConfigFolder().load(after(inSandbox, `    passThrough: [ ${routes.join(", ")} ]`));
    if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
    const found = loaded.warnings.filter(({ code }) => code === "upstream_prefix_nested");
    expect(found.map(({ path }) => path)).toEqual(warned.map((at) => `environments.sandbox.passThrough[${at}]`));
  },
);
