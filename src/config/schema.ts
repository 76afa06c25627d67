import { z } from "zod";
import { count, duration, listOf, parsed, secretSource, text } from "./fields.ts";
import { siteSchema } from "./site-schema.ts";
import { readAddress, readBind } from "./values.ts";

const bind = parsed(readBind).describe(
  "An address and port, `:port` for every address, or `unix:/path`. Port 0 takes a free one.",
);
const url = parsed(readAddress);

const callers = z
  .union([
    z.literal("anyone"),
    z.strictObject({ tokens: listOf(secretSource, 1) }).describe("Tokens that callers give in Proxy-Authorization."),
    z.strictObject({
      mtls: z.strictObject({
        caFile: text.describe("PEM file of the authorities that callers' certificates must come from."),
        certFile: text.describe("PEM file of the listener's own certificate."),
        keyFile: text.describe("PEM file of its key."),
      }),
    }),
  ])
  .describe("Who may call a listener that is reachable from elsewhere: tokens, mtls, or the written word `anyone`.");

const listener = z.strictObject({
  bind,
  environment: text.describe("The environment that everything on this listener belongs to."),
  hosts: listOf(text)
    .default([])
    .describe("Host names accepted beside loopback names, the bind address and the baseUrl's host."),
  callers: callers.optional(),
});

const environment = z.strictObject({
  baseUrl: url.describe("Address of the JSON API; operations are called below it."),
  authUrl: url.describe(
    "Address of the login host; tokens come from `{authUrl}/oauth/token`. Never the baseUrl's origin.",
  ),
  operations: listOf(text.regex(/^(\*|[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)*)$/), 1).describe(
    'Operations that may be called; `["*"]` alone allows any.',
  ),
  defaultSite: text.optional().describe("Site of requests that name none. Not needed where there is only one."),
  sites: z.record(text, siteSchema).describe("Sites by Site Identifier (S…)."),
  allowPlaintext: z
    .boolean()
    .default(false)
    .describe("Allow http:// for baseUrl and authUrl; for tests and the simulator."),
  tls: z
    .strictObject({
      caFile: text.optional().describe("PEM file with the authorities to trust instead of the public ones."),
      certFile: text.optional().describe("PEM file of the client certificate (mTLS)."),
      keyFile: text.optional().describe("PEM file of the client certificate's key."),
    })
    .default({})
    .describe("TLS towards the service and the login host. It is always verified."),
  forwardHeaders: listOf(text.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/))
    .default([])
    .describe("Further request headers to let through."),
  via: z.boolean().default(true).describe("Add `Via` to requests upstream (RFC 9110 section 7.6.3)."),
});

const redis = z
  .strictObject({
    url: text.optional().describe("redis:// or rediss:// address."),
    sentinel: z
      .strictObject({ name: text, nodes: listOf(text, 1), password: secretSource.optional() })
      .optional()
      .describe("Sentinels (`host:port`) and the master's name, instead of url."),
    cluster: z
      .strictObject({ nodes: listOf(text, 1) })
      .optional()
      .describe("Nodes (`host:port`) of a Redis Cluster, instead of url."),
    username: text.optional().describe("ACL user."),
    password: secretSource.optional().describe("Its password."),
    lockNodes: listOf(text)
      .default([])
      .describe("More independent masters for the lock; with url an odd number of at least 3 in all."),
    encryptionKeys: listOf(secretSource)
      .default([])
      .describe("Keys of 64 hex digits; the first encrypts, all decrypt."),
  })
  .describe("Where replicas share tokens.");

/** The configuration file. Every key that it may have is here, and nowhere else. */
export const configSchema = z
  .strictObject({
    listeners: listOf(listener, 1).describe("Where applications call."),
    admin: z.strictObject({ bind }).describe("/livez, /readyz and /metrics, for kubelet and Prometheus; nothing else."),
    status: z.strictObject({ bind }).describe("/status; loopback only."),
    environments: z.record(text, environment).describe("The service's environments, by a name of your choice."),
    tokens: z
      .strictObject({
        cache: z.enum(["memory", "redis"]).default("memory").describe("memory: one replica. redis: shared by all."),
      })
      .default({ cache: "memory" })
      .describe("Where tokens are kept."),
    redis: redis.optional(),
    timeouts: z
      .strictObject({
        request: duration("20s", 100, 600_000).describe("From a request's head to the end of its answer."),
        connect: duration("2s", 10, 60_000).describe("To connect to the service or the login host, TLS included."),
        token: duration("5s", 10, 60_000).describe("The longest that a request waits for a token."),
      })
      .default({ request: 20_000, connect: 2_000, token: 5_000 })
      .describe("How long things may take."),
    limits: z
      .strictObject({
        inFlightPerEnvironment: count(256, 1, 100_000).describe("Requests served at once; more get 503 overloaded."),
        connections: count(1_024, 1, 100_000).describe(
          "Connections of applications per listener; more get 503 overloaded.",
        ),
        bodyBytes: count(262_144, 1_024, 16_777_216).describe("Longest request body."),
      })
      .default({ inFlightPerEnvironment: 256, connections: 1_024, bodyBytes: 262_144 })
      .describe("How much there may be."),
    log: z
      .strictObject({
        level: z
          .enum(["trace", "debug", "info", "warn", "error", "fatal"])
          .default("info")
          .describe("Least severe level written."),
        upstreamHeaders: listOf(text)
          .default(["x-request-id"])
          .describe("Headers of a 401 that are logged: the service's own identifiers."),
      })
      .default({ level: "info", upstreamHeaders: ["x-request-id"] })
      .describe("The log, on standard output."),
    readiness: z
      .enum(["listening", "token"])
      .default("listening")
      .describe("What /readyz waits for: listening, or a first token of every default site."),
    drain: z
      .strictObject({
        minSeconds: z
          .number()
          .min(0)
          .max(3_600)
          .default(0)
          .describe("Go on serving this long after SIGTERM before closing doors."),
      })
      .default({ minSeconds: 0 })
      .describe("How the process ends."),
  })
  .describe("Configuration of Countersign.");

/** The file's content after the schema: typed, defaults filled in, nothing looked up yet. */
export type RawConfig = z.output<typeof configSchema>;
export type RawEnvironment = RawConfig["environments"][string];
export type RawRedis = NonNullable<RawConfig["redis"]>;
