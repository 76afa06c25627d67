/** Refuses routes that could be read in two ways, that hide an operation, or that have no token to attach. */
import { expect, test } from "vitest";
import { ConfigFolder } from "../../../testkit/config-folder.ts";
import { fault, inSandbox, instead, itRefuses, operations } from "./refusal.ts";

const withRoutes = (...routes: string[]) => inSandbox(`passThrough: [ ${routes.join(", ")} ]`);
const withPrefix = (prefix: string, more = "") => withRoutes(`{ prefix: "${prefix}", methods: [GET]${more} }`);
const wrong = (yaml: string, said: string) => fault(yaml, `.passThrough[0].${said}`);

itRefuses("pass-through routes", [
  wrong(withPrefix("/files"), 'prefix: slash at both ends, like "/files/"'),
  wrong(withPrefix("/"), "prefix: slash at both ends"),
  wrong(withPrefix("/files/?a/"), "prefix: slash at both ends"),
  wrong(withPrefix("/files//"), "prefix: form … slash"),
  ...["/fil\u00e9s/", "/\u20ac/", "/a\\u0001/", '/a\\"/'].map((path) =>
    wrong(withPrefix("/files/", `, upstreamPrefix: "${path}"`), "upstreamPrefix: form … plain characters"),
  ),
  ...["/a/../b/", "/./", "/a%2fb/", "/%2e/", "/a;b/", "/a\\\\b/"].map((prefix) =>
    wrong(withPrefix(prefix), "prefix: in another way … segments"),
  ),
  wrong(withPrefix("/files/", ', upstreamPrefix: "/a/../b/"'), "upstreamPrefix: another way … plain"),
  ...["/create_order/", "/Create_Order/"].map((prefix) =>
    wrong(withPrefix(prefix), "prefix: create_order is below … another prefix"),
  ),
  ...["/json-api/", "/JSON-API/"].map((upstream) =>
    wrong(
      withPrefix("/files/", `, upstreamPrefix: "${upstream}"`),
      "upstreamPrefix: create_order is below this path at the service … no operation",
    ),
  ),
  wrong(withPrefix("/json-api/files/"), "prefix: sent twice … leave /json-api out"),
  wrong(withPrefix("/.Countersign/once/"), "prefix: below /.countersign/ are Countersign's own … another prefix"),
  wrong(withRoutes('{ prefix: "/files/", methods: [] }'), "methods: empty"),
  wrong(withRoutes('{ prefix: "/files/", methods: [TRACE] }'), "methods[0]: write GET or HEAD"),
  wrong(withRoutes("{ prefix: /a/, methods: [PUT], upgrade: websocket }"), "upgrade: begins with a GET … add GET"),
  wrong(withPrefix("/files/", ", site: S9"), "site: no such site … S1000000001"),
  wrong(withPrefix("/files/", ", site: S1000000003"), "site: does not use OAuth … S1000000001"),
  wrong(withPrefix("/files/", ", idleTimeout: 2h"), "idleTimeout: more than 1h"),
  fault(
    withRoutes('{ prefix: "/files/", methods: [GET] }', '{ prefix: "/files/", methods: [PUT] }'),
    ".passThrough[1].prefix: two routes have this prefix … methods of both",
  ),
  fault(
    instead(operations, 'operations: ["*"]\n    passThrough: [ { prefix: "/files/", methods: [GET] } ]'),
    ".passThrough: every path may be an operation … name the operations",
  ),
]);

test("sites that have credentials and only sign are not told to get credentials alone", async () => {
  const signs =
    "auth: [hmac], keys: [ { identifier: K1, secret: { file: DIR/k2 } } ], credentials: [ { name: blue, dir: DIR/blue } ]";
  const yaml = `${inSandbox('passThrough: [ { prefix: "/files/", methods: [GET] } ]').replace(/ {4}defaultSite:[\s\S]*/, "")}`;
  for (const more of ["", "    defaultSite: S5\n"]) {
    const [problem] = await new ConfigFolder().problemsOf(`${yaml}${more}    sites: { S5: { ${signs} } }\n`);
    expect(problem?.fix).toBe("let one use it: credentials, and oauth in its auth");
  }
});

test("a route needs a prefix and methods; the rest has defaults, and the longest prefix comes first", async () => {
  const live = "methods: [GET], upgrade: websocket, idleTimeout: 5m, site: S1000000001, upstreamPrefix: /live/";
  const routes = `{ prefix: /files/, methods: [GET, PUT] }, { prefix: /files/live/, ${live} }`;
  const loaded = await new ConfigFolder().loadSound(inSandbox(`passThrough: [ ${routes} ]`));
  expect(loaded.config.environments.get("sandbox")?.passThrough).toEqual([
    {
      ...{ prefix: "/files/live/", upstreamPrefix: "/live/", methods: new Set(["GET"]) },
      ...{ site: "S1000000001", upgrade: "websocket", idleMs: 300_000 },
    },
    {
      ...{ prefix: "/files/", upstreamPrefix: "/json-api/files/", methods: new Set(["GET", "PUT"]) },
      ...{ site: undefined, upgrade: undefined, idleMs: 60_000 },
    },
  ]);
});

const route = (prefix: string, upstreamPrefix: string) =>
  `{ prefix: "${prefix}", methods: [GET], upstreamPrefix: "${upstreamPrefix}" }`;

test.each([
  ["nested in those of another route", [route("/files/", "/v2/"), route("/live/", "/V2/live/")], [1]],
  ["the same", [route("/files/", "/v2/"), route("/live/", "/v2/")], [1]],
  ["below a longer prefix that leads elsewhere", [route("/files/", "/v2/"), route("/files/live/", "/v2/other/")], [1]],
  ["around those of another route", [route("/live/", "/v2/live/"), route("/files/", "/V2/")], [1]],
  ["nested as the prefixes are", [route("/files/", "/v2/"), route("/files/live/", "/v2/live/")], []],
  ["separate from each other", [route("/files/", "/v2/"), route("/live/", "/v3/")], []],
])(
  "paths at the service that are %s: refused if a right to one prefix reaches the other's paths",
  async (_, routes, refused) => {
    const problems = await new ConfigFolder().problemsOf(inSandbox(`passThrough: [ ${routes.join(", ")} ]`));
    expect(problems.map(({ path }) => path)).toEqual(refused.map((at) => `environments.sandbox.passThrough[${at}]`));
    for (const { message } of problems) expect(message).toContain("one path at the service");
  },
);
