import * as z from "zod";
import { codec, inFile, listOf, mapping, optional, secretSource, text, tlsFiles, withDefault } from "./fields.ts";
import { hostPortForm, redisNodeForm } from "./values.ts";

const sentinel = mapping("Sentinels, instead of url.", {
  name: text.describe("Name of the master that the Sentinels watch."),
  nodes: listOf(codec(hostPortForm, "sentinel:26379"), 1).describe("The Sentinels, as `host:port`."),
  password: optional(secretSource).describe("Where the Sentinels' own password is."),
});

const cluster = mapping("A Redis Cluster, instead of url.", {
  nodes: listOf(codec(hostPortForm, "cache:6379"), 1).describe("Some of the nodes, as `host:port`."),
});

export const redis = mapping("Where replicas share tokens; for `tokens.cache: redis`.", {
  url: optional(codec(redisNodeForm, "rediss://cache:6379")).describe(
    "One Redis: `rediss://host:port/db` (TLS), `redis://host:port/db` or `unix:/path?db=0`.",
  ),
  sentinel: sentinel.optional(),
  cluster: cluster.optional(),
  username: optional(z.union([text, inFile])).describe(
    "ACL user, of every node, or `{ file: … }` where its name is; needs password. The file may be password's: its name is then the first line, the password the second. Default: Redis's own default user.",
  ),
  password: optional(secretSource).describe("Where its password is."),
  tls: tlsFiles
    .describe("TLS towards Redis: `tls: {}` turns it on for sentinel and cluster; with url write rediss://.")
    .optional(),
  lockNodes: listOf(codec(redisNodeForm, "rediss://lock-2:6379"))
    .prefault([])
    .describe("More independent masters, as url; with it an odd number of at least 3 in all: then a majority locks."),
  encryptionKeys: withDefault(listOf(secretSource), []).describe(
    "Keys of 64 hex digits (`countersign keygen`); the first encrypts (AES-256-GCM), all decrypt.",
  ),
});

export type RawRedis = z.output<typeof redis>;
