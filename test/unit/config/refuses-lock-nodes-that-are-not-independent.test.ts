import { itRefuses, type Refusal, withRedis } from "./refusal.ts";

const lockNodes: readonly Refusal[] = [
  {
    what: "four lock masters in all",
    yaml: withRedis('url: "redis://a", lockNodes: ["redis://b", "redis://c", "redis://d"]'),
    path: "redis.lockNodes",
    message: /odd/,
    fix: /3, 5/,
  },
  {
    what: "two lock masters in all",
    yaml: withRedis("url: redis://a:6379, lockNodes: [redis://b:6379]"),
    path: "redis.lockNodes",
    message: /odd/,
    fix: /3/,
  },
  {
    what: "lock nodes beside Sentinels",
    yaml: withRedis('sentinel: { name: m, nodes: ["s:1"] }, lockNodes: ["redis://b", "redis://c", "redis://d"]'),
    path: "redis.lockNodes",
    message: /odd/,
    fix: /with url/,
  },
  ...[
    ["the url's server", "redis://b:6379"],
    ["the url's server, with TLS and another database", "rediss://B/3"],
    ["another lock node", "redis://c:6380"],
  ].map(([what, node]) => ({
    what: `${what} as a lock node`,
    yaml: withRedis(`url: "redis://b", lockNodes: ["redis://c:6380", "${node}"]`),
    path: "redis.lockNodes[1]",
    message: /one server twice/,
    fix: /another server/,
  })),
  ...[
    ["redis://localhost", "redis://127.0.0.1:6379"],
    ["redis://127.0.0.1", "redis://[::1]"],
    ["unix:/run/redis.sock", "unix:///run/redis.sock?db=2"],
  ].map(([url, node]) => ({
    what: `${node} as a lock node where the url is ${url}`,
    yaml: withRedis(`url: "${url}", lockNodes: ["${node}", "redis://c"]`),
    path: "redis.lockNodes[0]",
    message: /one server twice/,
    fix: /another server/,
  })),
];

itRefuses("lock nodes that are not independent", lockNodes);
