import { clientCertificate } from "../../../testkit/certificates.ts";
import { tokenKey } from "../../../testkit/config-folder.ts";
import { atTheEnd, fault, itRefuses, redisWith, withRedis } from "./refusal.ts";

itRefuses("Redis that cannot work", [
  fault(redisWith("url: redis://cache:6379"), "redis.encryptionKeys: encrypt … countersign keygen"),
  fault(atTheEnd("tokens: { cache: redis }"), "tokens.cache: no section redis … add redis"),
  fault(
    atTheEnd("redis: { url: redis://cache, encryptionKeys: [ { file: DIR/token-key } ] }"),
    "redis: not used while tokens.cache is memory … cache: redis",
  ),
  fault(atTheEnd("once: { ttl: 24h }"), "once: needs the Redis that replicas share … tokens: { cache: redis }"),
  fault(atTheEnd("once: { ttl: 60s }"), "once.ttl: less than 15m … from 15m"),
  fault(
    redisWith("url: redis://cache:6379, encryptionKeys: [ { file: DIR/k1 } ]"),
    "redis.encryptionKeys[0]: 64 hex … countersign keygen",
  ),
  fault(withRedis("url: redis://u:canary-redis-pw@a:6379"), "redis.url: password"),
  fault(withRedis('url: redis://a, sentinel: { name: m, nodes: ["s:26379"] }'), "redis: one place only … keep one"),
  fault(redisWith("encryptionKeys: [ { file: DIR/token-key } ]"), "redis: where it is … url, sentinel or cluster"),
  ...["redis://a", "unix:/run/redis.sock"].map((url) =>
    fault(withRedis(`url: "${url}", tls: {}`), "redis.url: does not speak TLS … write rediss:// … , or remove tls"),
  ),
  fault(
    withRedis('url: "rediss://a", tls: {}, lockNodes: ["rediss://b", "redis://c:6380/1"]'),
    "redis.lockNodes[1]: redis:// does not speak TLS … write rediss://c:6380/1, or",
  ),
  fault(withRedis("url: rediss://a, tls: { certFile: DIR/cert }"), "redis.tls.keyFile: no key … keyFile", {
    cert: clientCertificate,
  }),
  fault(withRedis("url: rediss://a, tls: { caFile: DIR/k1 }"), "redis.tls.caFile: no certificate … PEM"),
  fault(withRedis("url: rediss://a, username: countersign"), "redis.username: username alone … add password"),
  fault(
    withRedis("url: rediss://a, username: countersign, password: { file: DIR/nothing }"),
    "redis.password: ENOENT … create the file",
  ),
  ...["canary-of-one-line-alone", "two words\ncanary-of-a-secret", "\ncanary-of-a-secret"].map((login) =>
    fault(
      withRedis("url: rediss://a, username: { file: DIR/login }, password: { file: DIR/login }"),
      "redis.password: user name and a password … first line … second",
      { login },
    ),
  ),
  fault(
    withRedis('sentinel: { name: m, nodes: ["a:1"], password: { file: DIR/empty } }'),
    "redis.sentinel.password: empty … put it into",
    { empty: "\n" },
  ),
  ...["0".repeat(64), "aA".repeat(32)].map((digits) =>
    fault(withRedis("url: rediss://a"), "redis.encryptionKeys[0]: one digit 64 times … countersign keygen", {
      "token-key": digits,
    }),
  ),
  fault(withRedis("url: rediss://a"), "redis.encryptionKeys[0]: 64 hex … countersign keygen", {
    "token-key": `${tokenKey}0`,
  }),
  fault(
    redisWith("url: rediss://a, encryptionKeys: [ { file: DIR/token-key }, { file: DIR/capitals } ]"),
    "redis.encryptionKeys[1]: here already … remove it",
    { capitals: `${tokenKey.toUpperCase()}\n` },
  ),
]);

itRefuses("lock nodes that are not independent", [
  fault(
    withRedis('url: "redis://a", lockNodes: ["redis://b", "redis://c", "redis://d"]'),
    "redis.lockNodes: odd … 3, 5",
  ),
  fault(withRedis("url: redis://a:6379, lockNodes: [redis://b:6379]"), "redis.lockNodes: odd … 3"),
  fault(
    withRedis('sentinel: { name: m, nodes: ["s:1"] }, lockNodes: ["redis://b", "redis://c", "redis://d"]'),
    "redis.lockNodes: odd … with url",
  ),
  ...[
    'url: "redis://b", lockNodes: ["redis://b:6379", "redis://c:6380"]',
    'url: "redis://b", lockNodes: ["rediss://B/3", "redis://c:6380"]',
    'url: "redis://localhost", lockNodes: ["redis://127.0.0.1:6379", "redis://c"]',
    'url: "redis://127.0.0.1", lockNodes: ["redis://[::1]", "redis://c"]',
    'url: "unix:/run/redis.sock", lockNodes: ["unix:///run/redis.sock?db=2", "redis://c"]',
  ].map((nodes) => fault(withRedis(nodes), "redis.lockNodes[0]: one server twice … another server")),
  fault(
    withRedis('url: "redis://b", lockNodes: ["redis://c:6380", "redis://c:6380"]'),
    "redis.lockNodes[1]: one server twice … another server",
  ),
]);
