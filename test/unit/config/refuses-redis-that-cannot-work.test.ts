import { clientCertificate } from "../../../testkit/certificates.ts";
import { tokenKey } from "../../../testkit/config-folder.ts";
import { atTheEnd, fault, itRefuses, withRedis } from "./refusal.ts";

const redis = [
  fault("Redis without encryption keys", atTheEnd("tokens: { cache: redis }\nredis: { url: redis://cache:6379 }"), [
    "redis.encryptionKeys",
    /encrypt/,
    /countersign keygen/,
  ]),
  fault("a Redis cache without the section redis", atTheEnd("tokens: { cache: redis }"), [
    "tokens.cache",
    /no section redis/,
    /add redis/,
  ]),
  fault(
    "a section redis beside a cache in memory",
    atTheEnd(withRedis("url: redis://cache").split("cache: redis }\n")[1] ?? ""),
    ["redis", /not used while tokens\.cache is memory/, /cache: redis/],
  ),
  fault("keys of Countersign-Once without Redis", atTheEnd("once: { ttl: 24h }"), [
    "once",
    /needs the Redis that replicas share/,
    /tokens: \{ cache: redis \}/,
  ]),
  fault("a ttl of Countersign-Once shorter than a request", atTheEnd("once: { ttl: 60s }"), [
    "once.ttl",
    /less than 15m/,
    /from 15m/,
  ]),
  fault(
    "an encryption key that is not 64 hex digits",
    atTheEnd("tokens: { cache: redis }\nredis: { url: redis://cache:6379, encryptionKeys: [ { file: DIR/k1 } ] }"),
    ["redis.encryptionKeys[0]", /64 hex/, /countersign keygen/],
  ),
  fault(
    "a password written into the Redis url",
    atTheEnd(
      "tokens: { cache: redis }\nredis: { url: redis://u:canary-redis-pw@a:6379, encryptionKeys: [ { file: DIR/token-key } ] }",
    ),
    ["redis.url", /./, /password/],
  ),
  fault(
    "Redis by url and by Sentinel",
    atTheEnd(
      'tokens: { cache: redis }\nredis: { url: redis://a:6379, sentinel: { name: m, nodes: ["s:26379"] }, encryptionKeys: [ { file: DIR/token-key } ] }',
    ),
    ["redis", /one place only/, /keep one/],
  ),
  fault(
    "Redis in no place",
    atTheEnd("tokens: { cache: redis }\nredis: { encryptionKeys: [ { file: DIR/token-key } ] }"),
    ["redis", /where it is/, /url, sentinel or cluster/],
  ),
  ...["redis://a", "unix:/run/redis.sock"].map((url) =>
    fault(`tls where the url is ${url}`, withRedis(`url: "${url}", tls: {}`), [
      "redis.url",
      /does not speak TLS, and tls is configured/,
      /^write rediss:\/\/.+, or remove tls$/,
    ]),
  ),
  fault(
    "tls where a lock node's URL is plain",
    withRedis('url: "rediss://a", tls: {}, lockNodes: ["rediss://b", "redis://c:6380/1"]'),
    ["redis.lockNodes[1]", /redis:\/\/ does not speak TLS/, /write rediss:\/\/c:6380\/1, or/],
  ),
  fault(
    "a client certificate without its key",
    withRedis("url: rediss://a, tls: { certFile: DIR/cert }"),
    ["redis.tls.keyFile", /no key/, /keyFile/],
    { files: { cert: clientCertificate } },
  ),
  fault("an authority that is no certificate", withRedis("url: rediss://a, tls: { caFile: DIR/k1 }"), [
    "redis.tls.caFile",
    /no certificate/,
    /PEM/,
  ]),
  fault("a username without a password", withRedis("url: rediss://a, username: countersign"), [
    "redis.username",
    /username alone/,
    /add password/,
  ]),
  fault(
    "a password whose file is missing",
    withRedis("url: rediss://a, username: countersign, password: { file: DIR/nothing }"),
    ["redis.password", /ENOENT/, /create the file/],
  ),
  ...["canary-of-one-line-alone", "two words\ncanary-of-a-secret", "\ncanary-of-a-secret"].map((login) =>
    fault(
      `a file for user and password that holds ${JSON.stringify(login)}`,
      withRedis("url: rediss://a, username: { file: DIR/login }, password: { file: DIR/login }"),
      ["redis.password", /user name and a password/, /first line.*second/],
      { files: { login } },
    ),
  ),
  fault(
    "a Sentinels' password whose file is empty",
    withRedis('sentinel: { name: m, nodes: ["a:1"], password: { file: DIR/empty } }'),
    ["redis.sentinel.password", /empty/, /put it into/],
    { files: { empty: "\n" } },
  ),
  ...["0".repeat(64), "aA".repeat(32)].map((digits) =>
    fault(
      `an encryption key of ${digits.slice(0, 4)}… only`,
      withRedis("url: rediss://a"),
      ["redis.encryptionKeys[0]", /one digit 64 times/, /countersign keygen/],
      { files: { "token-key": digits } },
    ),
  ),
  fault(
    "an encryption key of 65 digits",
    withRedis("url: rediss://a"),
    ["redis.encryptionKeys[0]", /64 hex/, /countersign keygen/],
    { files: { "token-key": `${tokenKey}0` } },
  ),
  fault(
    "one encryption key twice, however it is written",
    atTheEnd(
      "tokens: { cache: redis }\nredis: { url: rediss://a, encryptionKeys: [ { file: DIR/token-key }, { file: DIR/capitals } ] }",
    ),
    ["redis.encryptionKeys[1]", /here already/, /remove it/],
    { files: { capitals: `${tokenKey.toUpperCase()}\n` } },
  ),
];

itRefuses("Redis that cannot work", redis);
