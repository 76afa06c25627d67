import { clientCertificate } from "../../../testkit/certificates.ts";
import { tokenKey } from "../../../testkit/config-folder.ts";
import { atTheEnd, itRefuses, type Refusal, withRedis } from "./refusal.ts";

const redis: readonly Refusal[] = [
  {
    what: "Redis without encryption keys",
    yaml: atTheEnd("redis: { url: redis://cache:6379 } # here"),
    path: "redis.encryptionKeys",
    message: /encrypt/,
    fix: /countersign keygen/,
  },
  {
    what: "a Redis cache without the section redis",
    yaml: atTheEnd("tokens: { cache: redis } # here"),
    path: "tokens.cache",
    message: /no section redis/,
    fix: /add redis/,
  },
  {
    what: "keys of Countersign-Once without Redis",
    yaml: atTheEnd("once: { ttl: 24h } # here"),
    path: "once",
    message: /needs the Redis that replicas share/,
    fix: /tokens: \{ cache: redis \}/,
  },
  {
    what: "a ttl of Countersign-Once shorter than a request",
    yaml: atTheEnd("once: { ttl: 60s } # here"),
    path: "once.ttl",
    message: /less than 900000ms/,
    fix: /from 900000ms/,
  },
  {
    what: "an encryption key that is not 64 hex digits",
    yaml: atTheEnd("redis: { url: redis://cache:6379, encryptionKeys: [ { file: DIR/k1 } ] } # here"),
    path: "redis.encryptionKeys[0]",
    message: /64 hex/,
    fix: /countersign keygen/,
  },
  {
    what: "a password written into the Redis url",
    yaml: atTheEnd(
      "redis: { url: redis://u:canary-redis-pw@a:6379, encryptionKeys: [ { file: DIR/token-key } ] } # here",
    ),
    path: "redis.url",
    message: /./,
    fix: /password/,
  },
  {
    what: "Redis by url and by Sentinel",
    yaml: atTheEnd(
      'redis: { url: redis://a:6379, sentinel: { name: m, nodes: ["s:26379"] }, encryptionKeys: [ { file: DIR/token-key } ] } # here',
    ),
    path: "redis",
    message: /one place only/,
    fix: /keep one/,
  },
  {
    what: "Redis in no place",
    yaml: atTheEnd("redis: { encryptionKeys: [ { file: DIR/token-key } ] } # here"),
    path: "redis",
    message: /where it is/,
    fix: /url, sentinel or cluster/,
  },
  ...["redis://a", "unix:/run/redis.sock"].map((url) => ({
    what: `tls where the url is ${url}`,
    yaml: withRedis(`url: "${url}", tls: {}`),
    path: "redis.url",
    message: /does not speak TLS, and tls is configured/,
    fix: /^write rediss:\/\/.+, or remove tls$/,
  })),
  {
    what: "tls where a lock node's URL is plain",
    yaml: withRedis('url: "rediss://a", tls: {}, lockNodes: ["rediss://b", "redis://c:6380/1"]'),
    path: "redis.lockNodes[1]",
    message: /redis:\/\/ does not speak TLS/,
    fix: /write rediss:\/\/c:6380\/1, or/,
  },
  {
    what: "a client certificate without its key",
    yaml: withRedis("url: rediss://a, tls: { certFile: DIR/cert }"),
    files: { cert: clientCertificate },
    path: "redis.tls.keyFile",
    message: /no key/,
    fix: /keyFile/,
  },
  {
    what: "an authority that is no certificate",
    yaml: withRedis("url: rediss://a, tls: { caFile: DIR/k1 }"),
    path: "redis.tls.caFile",
    message: /no certificate/,
    fix: /PEM/,
  },
  {
    what: "a username without a password",
    yaml: withRedis("url: rediss://a, username: countersign"),
    path: "redis.username",
    message: /username alone/,
    fix: /add password/,
  },
  {
    what: "a password whose file is missing",
    yaml: withRedis("url: rediss://a, username: countersign, password: { file: DIR/nothing }"),
    path: "redis.password",
    message: /ENOENT/,
    fix: /create the file/,
  },
  {
    what: "a Sentinels' password whose file is empty",
    yaml: withRedis('sentinel: { name: m, nodes: ["a:1"], password: { file: DIR/empty } }'),
    files: { empty: "\n" },
    path: "redis.sentinel.password",
    message: /empty/,
    fix: /put it into/,
  },
  ...["0".repeat(64), "aA".repeat(32)].map((digits) => ({
    what: `an encryption key of ${digits.slice(0, 4)}… only`,
    yaml: withRedis("url: rediss://a"),
    files: { "token-key": digits },
    path: "redis.encryptionKeys[0]",
    message: /one digit 64 times/,
    fix: /countersign keygen/,
  })),
  {
    what: "an encryption key of 65 digits",
    yaml: withRedis("url: rediss://a"),
    files: { "token-key": `${tokenKey}0` },
    path: "redis.encryptionKeys[0]",
    message: /64 hex/,
    fix: /countersign keygen/,
  },
  {
    what: "one encryption key twice, however it is written",
    yaml: atTheEnd(
      "redis: { url: rediss://a, encryptionKeys: [ { file: DIR/token-key }, { file: DIR/capitals } ] } # here",
    ),
    files: { capitals: `${tokenKey.toUpperCase()}\n` },
    path: "redis.encryptionKeys[1]",
    message: /here already/,
    fix: /remove it/,
  },
];

itRefuses("Redis that cannot work", redis);
