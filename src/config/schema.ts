import { z } from "zod";
import { environmentSchema } from "./environment-schema.ts";
import { count, duration, durationWithin, headerName, listOf, plainName } from "./fields.ts";
import { bind, host, listenerSchema } from "./listener-schema.ts";
import { redisSchema } from "./redis-schema.ts";
import { warningCodes } from "./warning-codes.ts";

const tokens = z
  .strictObject({
    cache: z
      .enum(["memory", "redis"])
      .default("memory")
      .describe("memory: one replica, nothing to install. redis: shared by all replicas."),
  })
  .prefault({})
  .describe("Where tokens are kept (spec 5.4).");

const timeouts = z
  .strictObject({
    request: duration("20s", 100, 600_000).describe(
      "From a request's head to the end of its answer, retry and waiting included; 100ms to 600s.",
    ),
    connect: duration("2s", 10, 60_000).describe(
      "To connect to the service or the authorization server, TLS included; 10ms to 60s.",
    ),
    token: duration("5s", 10, 60_000).describe("The longest that a request waits for a token; 10ms to 60s."),
  })
  .prefault({})
  .describe("How long things may take: a whole number with ms, s, m or h.");

const limits = z
  .strictObject({
    inFlightPerEnvironment: count(256, 1, 100_000).describe("Requests served at once; more get 503 overloaded."),
    connections: count(1_024, 1, 100_000).describe("Connections per listener; more get 503 overloaded."),
    bodyBytes: count(262_144, 1_024, 16_777_216).describe("Longest request body, in bytes."),
    bufferedBytes: z
      .int()
      .min(1_048_576)
      .max(1_099_511_627_776)
      .optional()
      .describe(
        "Memory for bodies and answers under way, as charged (docs/operations.md); more get 503 overloaded. Default: half of what the container's memory limit leaves beyond 128 MiB, at least 16 MiB; 256 MiB without such a limit.",
      ),
  })
  .prefault({})
  .describe("How much there may be.");

const log = z
  .strictObject({
    level: z
      .enum(["trace", "debug", "info", "warn", "error", "fatal"])
      .default("info")
      .describe("Least severe level written; the line that says where each listener leads always is."),
    upstreamHeaders: listOf(headerName)
      .default(["x-request-id"])
      .describe("Headers of a 401 that are logged: the service's own correlation identifiers (spec 5.4)."),
  })
  .prefault({})
  .describe("The log, on standard output.");

const reload = z
  .strictObject({
    unreadyAfterRefusal: durationWithin(1_000, 3_600_000, "60s")
      .optional()
      .describe(
        "How long the newest configuration may stay refused before /readyz says no; 1s to 3600s. Default: /readyz does not tell.",
      ),
  })
  .prefault({})
  .describe("How changes of the configuration and its secrets are taken up.");

const drain = z
  .strictObject({
    minSeconds: z
      .number()
      .min(0)
      .max(3_600)
      .default(0)
      .describe("Go on serving this many seconds after SIGTERM before closing doors."),
  })
  .prefault({})
  .describe("How the process ends.");

/** The configuration file. Every key that it may have is here or in the schemas named here, and nowhere else. */
export const configSchema = z
  .strictObject({
    listeners: listOf(listenerSchema, 1).describe("Where applications call."),
    admin: z
      .strictObject({
        bind: bind(":7412"),
        hosts: listOf(host)
          .default([])
          .describe(
            "Host names under which /metrics is shown, beside IP addresses, localhost and the machine's own; probes may use any.",
          ),
      })
      .describe("/livez, /readyz and /metrics, for kubelet and Prometheus; nothing else."),
    status: z
      .strictObject({ bind: bind("127.0.0.1:7413") })
      .describe("The status page on /, and the same as JSON on /status; loopback only."),
    environments: z
      .record(plainName, environmentSchema)
      .describe("The service's environments, by names of your choice."),
    tokens,
    redis: redisSchema.optional(),
    timeouts,
    limits,
    log,
    readiness: z
      .enum(["listening", "token"])
      .default("listening")
      .describe("What /readyz waits for: listening, or a first token of every default site."),
    reload,
    drain,
    acknowledge: listOf(z.enum(warningCodes))
      .default([])
      .describe(
        "Codes of warnings that are known: `check` lists them in one line, and the log leaves them out. They are: " +
          `${warningCodes.map((code) => `\`${code}\``).join(", ")}.`,
      ),
  })
  .describe("Configuration of Countersign.");

/** The file's content after the schema: typed, defaults filled in, nothing looked up yet. */
export type RawConfig = z.output<typeof configSchema>;
