import { z } from "zod";
import { listOf, matching, secretSource, text } from "./fields.ts";

/** User and password have keys of their own, so that no secret stands in a URL. */
const redisUrl = matching(
  /^rediss?:\/\/[^\s@/?#]+(\/\d{1,3})?$/,
  "write redis://host:6379 or rediss://host:6379; user and password have keys of their own",
);

const node = matching(/^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):\d{1,5}$/, "write host:port");

const sentinel = z
  .strictObject({
    name: text.describe("Name of the master that the Sentinels watch."),
    nodes: listOf(node, 1).describe("The Sentinels, as `host:port`."),
    password: secretSource.optional().describe("Where the Sentinels' own password is."),
  })
  .describe("Sentinels, instead of url.");

const cluster = z
  .strictObject({ nodes: listOf(node, 1).describe("Some of the nodes, as `host:port`.") })
  .describe("A Redis Cluster, instead of url.");

export const redisSchema = z
  .strictObject({
    url: redisUrl.optional().describe("One Redis: redis:// or rediss:// (TLS)."),
    sentinel: sentinel.optional(),
    cluster: cluster.optional(),
    username: text.optional().describe("ACL user. Default: Redis's own default user."),
    password: secretSource.optional().describe("Where its password is: `{ file: … }` or `{ env: … }`."),
    lockNodes: listOf(redisUrl)
      .default([])
      .describe("More independent masters; with url an odd number of at least 3 in all: then a majority locks."),
    encryptionKeys: listOf(secretSource)
      .default([])
      .describe("Keys of 64 hex digits (AES-256-GCM); the first encrypts, all decrypt."),
  })
  .describe("Where replicas share tokens; for `tokens.cache: redis`.");

export type RawRedis = z.output<typeof redisSchema>;
