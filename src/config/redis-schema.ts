import { z } from "zod";
import { listOf, parsed, secretSource, text } from "./fields.ts";
import { hostPortPattern, nodePattern, readHostPort, readRedisNode } from "./redis-values.ts";

const node = (example: string) => parsed(readRedisNode, { pattern: nodePattern, example });
const hostPort = (example: string) => parsed(readHostPort, { pattern: hostPortPattern, example });

const sentinel = z
  .strictObject({
    name: text.describe("Name of the master that the Sentinels watch."),
    nodes: listOf(hostPort("sentinel:26379"), 1).describe("The Sentinels, as `host:port`."),
    password: secretSource.optional().describe("Where the Sentinels' own password is."),
  })
  .describe("Sentinels, instead of url.");

const cluster = z
  .strictObject({ nodes: listOf(hostPort("cache:6379"), 1).describe("Some of the nodes, as `host:port`.") })
  .describe("A Redis Cluster, instead of url.");

const tls = z
  .strictObject({
    caFile: text.optional().describe("PEM file with the authorities to trust. Default: the public ones."),
    certFile: text.optional().describe("PEM file of the client certificate (mTLS); needs keyFile."),
    keyFile: text.optional().describe("PEM file of the client certificate's key, without a passphrase."),
  })
  .describe("TLS towards Redis: `tls: {}` turns it on for sentinel and cluster; with url write rediss://.");

export const redisSchema = z
  .strictObject({
    url: node("rediss://cache:6379")
      .optional()
      .describe("One Redis: `rediss://host:port/db` (TLS), `redis://host:port/db` or `unix:/path?db=0`."),
    sentinel: sentinel.optional(),
    cluster: cluster.optional(),
    username: text.optional().describe("ACL user, of every node; needs password. Default: Redis's own default user."),
    password: secretSource.optional().describe("Where its password is: `{ file: … }` or `{ env: … }`."),
    tls: tls.optional(),
    lockNodes: listOf(node("rediss://lock-2:6379"))
      .prefault([])
      .describe("More independent masters, as url; with it an odd number of at least 3 in all: then a majority locks."),
    encryptionKeys: listOf(secretSource)
      .default([])
      .describe("Keys of 64 hex digits (`countersign keygen`); the first encrypts (AES-256-GCM), all decrypt."),
  })
  .describe("Where replicas share tokens; for `tokens.cache: redis`.");

export type RawRedis = z.output<typeof redisSchema>;
