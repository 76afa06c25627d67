import { fault, itRefuses, withRedis } from "./refusal.ts";

const lockNodes = [
  fault("four lock masters in all", withRedis('url: "redis://a", lockNodes: ["redis://b", "redis://c", "redis://d"]'), [
    "redis.lockNodes",
    /odd/,
    /3, 5/,
  ]),
  fault("two lock masters in all", withRedis("url: redis://a:6379, lockNodes: [redis://b:6379]"), [
    "redis.lockNodes",
    /odd/,
    /3/,
  ]),
  fault(
    "lock nodes beside Sentinels",
    withRedis('sentinel: { name: m, nodes: ["s:1"] }, lockNodes: ["redis://b", "redis://c", "redis://d"]'),
    ["redis.lockNodes", /odd/, /with url/],
  ),
  ...[
    ["the url's server", "redis://b:6379"],
    ["the url's server, with TLS and another database", "rediss://B/3"],
    ["another lock node", "redis://c:6380"],
  ].map(([what, node]) =>
    fault(`${what} as a lock node`, withRedis(`url: "redis://b", lockNodes: ["redis://c:6380", "${node}"]`), [
      "redis.lockNodes[1]",
      /one server twice/,
      /another server/,
    ]),
  ),
  ...[
    ["redis://localhost", "redis://127.0.0.1:6379"],
    ["redis://127.0.0.1", "redis://[::1]"],
    ["unix:/run/redis.sock", "unix:///run/redis.sock?db=2"],
  ].map(([url, node]) =>
    fault(
      `${node} as a lock node where the url is ${url}`,
      withRedis(`url: "${url}", lockNodes: ["${node}", "redis://c"]`),
      ["redis.lockNodes[0]", /one server twice/, /another server/],
    ),
  ),
];

itRefuses("lock nodes that are not independent", lockNodes);
