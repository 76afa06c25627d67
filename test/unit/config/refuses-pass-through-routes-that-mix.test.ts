/** Row 77: routes that could be read in two ways, that hide an operation, or that have no token to attach. */
import { expect, test } from "vitest";
import { ConfigFolder } from "../../../testkit/config-folder.ts";
import { fault, inSandbox, instead, itRefuses, operations } from "./refusal.ts";

const withRoutes = (...routes: string[]) => inSandbox(`passThrough: [ ${routes.join(", ")} ]`);
const withPrefix = (prefix: string, more = "") => withRoutes(`{ prefix: "${prefix}", methods: [GET]${more} }`);
const wrong = (what: string, yaml: string, [key, message, fix]: readonly [string, RegExp, RegExp]) =>
  fault(what, yaml, [`.passThrough[0].${key}`, message, fix]);

itRefuses("pass-through routes", [
  wrong("no slash at the end", withPrefix("/files"), ["prefix", /./, /slash at both ends, like \/files\//]),
  wrong("every path", withPrefix("/"), ["prefix", /./, /slash at both ends/]),
  wrong("a query", withPrefix("/files/?a/"), ["prefix", /./, /slash at both ends/]),
  ...["/files//", "/a/../b/", "/./", "/a%2fb/", "/%2e/", "/a;b/", "/a\\\\b/"].map((prefix) =>
    wrong(`the prefix ${prefix}`, withPrefix(prefix), [
      "prefix",
      /in another way|must|matches|string|form/i,
      /segments|slash/,
    ]),
  ),
  wrong("dots at the service", withPrefix("/files/", ', upstreamPrefix: "/a/../b/"'), [
    "upstreamPrefix",
    /another way/,
    /plain/,
  ]),
  wrong("an operation below it", withPrefix("/create_order/"), ["prefix", /create_order is below/, /another prefix/]),
  wrong("an operation below it at the service", withPrefix("/files/", ', upstreamPrefix: "/json-api/"'), [
    "upstreamPrefix",
    /create_order is below this path at the service/,
    /no operation/,
  ]),
  wrong("an operation in other letters", withPrefix("/Create_Order/"), [
    "prefix",
    /create_order is below/,
    /another prefix/,
  ]),
  wrong(
    "an operation below it at the service, in other letters",
    withPrefix("/files/", ', upstreamPrefix: "/JSON-API/"'),
    ["upstreamPrefix", /create_order is below this path at the service/, /no operation/],
  ),
  wrong("the base path", withPrefix("/json-api/files/"), ["prefix", /sent twice/, /leave \/json-api out/]),
  wrong("no method", withRoutes('{ prefix: "/files/", methods: [] }'), ["methods", /./, /./]),
  wrong("a method that never passes", withRoutes('{ prefix: "/files/", methods: [TRACE] }'), [
    "methods[0]",
    /./,
    /write GET or HEAD/,
  ]),
  wrong("a WebSocket without GET", withRoutes('{ prefix: "/files/", methods: [PUT], upgrade: websocket }'), [
    "upgrade",
    /begins with a GET/,
    /add GET/,
  ]),
  wrong("a site that is not there", withPrefix("/files/", ", site: S9"), ["site", /no such site/, /S1000000001/]),
  wrong("a site with HMAC only", withPrefix("/files/", ", site: S1000000003"), [
    "site",
    /does not use OAuth/,
    /S1000000001/,
  ]),
  wrong("a time without end", withPrefix("/files/", ", idleTimeout: 2h"), ["idleTimeout", /more than 1h/, /./]),
  fault(
    "two routes of one prefix",
    withRoutes('{ prefix: "/files/", methods: [GET] }', '{ prefix: "/files/", methods: [PUT] }'),
    [".passThrough[1].prefix", /two routes have this prefix/, /methods of both/],
  ),
  fault(
    'routes beside operations: ["*"]',
    instead(operations, 'operations: ["*"]\n    passThrough: [ { prefix: "/files/", methods: [GET] } ]'),
    [".passThrough", /every path may be an operation/, /name the operations/],
  ),
]);

test("a route needs a prefix and methods; the rest has defaults, and the longest prefix comes first", async () => {
  const routes =
    '{ prefix: "/files/", methods: [GET, PUT] }, { prefix: "/files/live/", methods: [GET], upgrade: websocket, idleTimeout: 5m, site: S1000000001, upstreamPrefix: "/live/" }';
  const loaded = await new ConfigFolder().loadSound(inSandbox(`passThrough: [ ${routes} ]`));
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
  ["around another's", [route("/live/", "/v2/live/"), route("/files/", "/V2/")], [1]],
  ["nested as the prefixes are", [route("/files/", "/v2/"), route("/files/live/", "/v2/live/")], []],
  ["beside each other", [route("/files/", "/v2/"), route("/live/", "/v3/")], []],
])(
  "paths at the service that are %s: refused where a right to one prefix reaches the other's",
  async (_, routes, refused) => {
    const problems = await new ConfigFolder().problemsOf(inSandbox(`passThrough: [ ${routes.join(", ")} ]`));
    expect(problems.map(({ path }) => path)).toEqual(refused.map((at) => `environments.sandbox.passThrough[${at}]`));
    for (const { message } of problems) expect(message).toContain("one path at the service");
  },
);
