import { atTheEnd, itRefuses, type Refusal } from "./refusal.ts";

const redis: readonly Refusal[] = [
  {
    what: "Redis without encryption keys",
    yaml: atTheEnd("redis: { url: redis://cache:6379 } # here"),
    path: "redis.encryptionKeys",
    message: /encrypt/,
    mend: /countersign keygen/,
  },
  {
    what: "a Redis cache without the section redis",
    yaml: atTheEnd("tokens: { cache: redis } # here"),
    count: 2,
    path: "tokens.cache",
    message: /no section redis/,
    mend: /add redis/,
  },
  {
    what: "an encryption key that is not 64 hex digits",
    yaml: atTheEnd("redis: { url: redis://cache:6379, encryptionKeys: [ { file: DIR/k1 } ] } # here"),
    path: "redis.encryptionKeys[0]",
    message: /64 hex/,
    mend: /countersign keygen/,
  },
  {
    what: "four lock masters in all",
    yaml: atTheEnd(
      'redis: { url: "redis://a", lockNodes: ["redis://b", "redis://c", "redis://d"], encryptionKeys: [ { file: DIR/token-key } ] } # here',
    ),
    path: "redis.lockNodes",
    message: /odd/,
    mend: /3, 5/,
  },
  {
    what: "two lock masters in all",
    yaml: atTheEnd(
      "redis: { url: redis://a:6379, lockNodes: [redis://b:6379], encryptionKeys: [ { file: DIR/token-key } ] } # here",
    ),
    path: "redis.lockNodes",
    message: /odd/,
    mend: /3/,
  },
  {
    what: "a password written into the Redis url",
    yaml: atTheEnd(
      "redis: { url: redis://u:canary-redis-pw@a:6379, encryptionKeys: [ { file: DIR/token-key } ] } # here",
    ),
    path: "redis.url",
    message: /./,
    mend: /password/,
  },
  {
    what: "Redis by url and by Sentinel",
    yaml: atTheEnd(
      'redis: { url: redis://a:6379, sentinel: { name: m, nodes: ["s:26379"] }, encryptionKeys: [ { file: DIR/token-key } ] } # here',
    ),
    path: "redis",
    message: /one place only/,
    mend: /keep one/,
  },
  {
    what: "a Redis cache, which is still to come",
    yaml: atTheEnd(
      "redis: { url: redis://a:6379, encryptionKeys: [ { file: DIR/token-key } ] }\ntokens: { cache: redis } # here",
    ),
    path: "tokens.cache",
    message: /tokens\.cache: redis is not available/,
    mend: /memory/,
  },
];

itRefuses("Redis that cannot work", redis);
