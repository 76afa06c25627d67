import * as z from "zod";
import { type Path, warningCodes } from "../diagnostics.ts";
import { environmentSchema } from "./environment.ts";
import {
  bind,
  codec,
  count,
  duration,
  durationWithin,
  headerName,
  inFile,
  listOf,
  mapping,
  optional,
  plainName,
  printable,
  secretSource,
  section,
  text,
  tlsFiles,
  url,
  withDefault,
} from "./fields.ts";
import { callbackListener, hosts, listener } from "./listeners.ts";
import { hostPortForm, redisNodeForm } from "./values.ts";

const tokens = section("Where tokens are kept (spec 5.4).", {
  cache: withDefault(z.enum(["memory", "redis"]), "memory").describe(
    "memory: one replica, nothing to install. redis: shared by all replicas.",
  ),
});

const sentinel = mapping("Sentinels, instead of url.", {
  name: text.describe("Name of the master that the Sentinels watch."),
  nodes: listOf(codec(hostPortForm, "sentinel:26379"), 1).describe("The Sentinels, as `host:port`."),
  password: optional(secretSource).describe("Where the Sentinels' own password is."),
});

const cluster = mapping("A Redis Cluster, instead of url.", {
  nodes: listOf(codec(hostPortForm, "cache:6379"), 1).describe("Some of the nodes, as `host:port`."),
});

const redis = mapping("Where replicas share tokens; for `tokens.cache: redis`.", {
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

const once = mapping("What `Countersign-Once` promises; needs `tokens.cache: redis` (docs/once.md).", {
  ttl: duration("24h", 900_000, 2_592_000_000).describe(
    "How long a key is remembered, and the answer with it; a repetition after that is sent. 15m to 720h.",
  ),
  header: withDefault(z.enum(["Countersign-Once", "Idempotency-Key"]), "Countersign-Once").describe(
    "`Idempotency-Key`: keys come in that header too, in double quotes (draft-ietf-httpapi-idempotency-key-header).",
  ),
});

const timeouts = section("How long things may take: a whole number with ms, s, m or h.", {
  request: duration("20s", 100, 600_000).describe(
    "From a request's head to the end of its answer, retry and waiting included; 100ms to 10m.",
  ),
  connect: duration("2s", 10, 60_000).describe(
    "To connect to the service or the authorization server, a proxy's tunnel and TLS included; 10ms to 60s.",
  ),
  token: duration("5s", 10, 60_000).describe(
    "The longest that a request waits for a token, and that one token request takes; 10ms to 60s.",
  ),
});

const limits = section("How much there may be.", {
  inFlightPerEnvironment: count(256, 1, 100_000).describe("Requests served at once; more get 503 overloaded."),
  connections: count(1_024, 1, 100_000).describe(
    "Connections per listener; more get 503 overloaded, unless one whose caller keeps quiet for a second gives way. Lowered, with a warning, where the process may open too few descriptors (ulimit -n).",
  ),
  bodyBytes: count(262_144, 1_024, 16_777_216).describe("Longest request body, in bytes."),
  bufferedBytes: optional(z.int().min(1_048_576).max(1_099_511_627_776)).describe(
    "Memory for bodies and answers under way; more get 503 overloaded. Default: by the container's memory limit (docs/performance.md); 256 MiB without one.",
  ),
});

const log = section("The log, on standard output.", {
  level: withDefault(z.enum(["trace", "debug", "info", "warn", "error", "fatal"]), "info").describe(
    "Least severe level written; the line that says where each listener leads always is.",
  ),
  upstreamHeaders: withDefault(listOf(headerName.toLowerCase()), ["x-request-id"]).describe(
    "Headers of a 401 that are logged: the service's own correlation identifiers (spec 5.4).",
  ),
});

const metrics = section("What /metrics names.", {
  sites: optional(z.enum(["named", "none"])).describe(
    "`none`: the labels site and credential are `all`, and there are no gauges of single credential sets; 10,000 sites have as " +
      "many series as one. Default: named, or none where an environment's sites are in a folder.",
  ),
});

const otlp = mapping("The collector, which takes OTLP over HTTP in JSON.", {
  endpoint: url("https://collector:4318/v1/traces").describe("Its whole address, `/v1/traces` included."),
  headers: withDefault(z.record(headerName, secretSource), {}).describe(
    "Headers of each export, such as an API key or a tenant.",
  ),
  tls: tlsFiles.prefault({}).describe("TLS towards the collector."),
});

const tracing = mapping("Spans by OpenTelemetry, off without this section (docs/tracing.md).", {
  otlp,
  sampleRatio: withDefault(z.number().min(0).max(1), 1).describe(
    "Of the traces that begin here, how many are recorded. A caller's own trace is recorded where it says so.",
  ),
  serviceName: withDefault(printable, "countersign").describe("`service.name` of the spans."),
  resource: withDefault(z.record(printable, z.string()), {}).describe(
    "Further attributes of all spans, like `deployment.environment.name`.",
  ),
  propagate: withDefault(z.enum(["callers", "always", "never"]), "callers").describe(
    "Whether the service gets `traceparent`, with the span of the attempt. callers: where the caller sent one, as without tracing. always: with every request. never: with none, nor `tracestate`.",
  ),
});

const reload = section("How changes of the configuration and its secrets are taken up.", {
  unreadyAfterRefusal: optional(durationWithin(1_000, 3_600_000, "60s")).describe(
    "How long the newest configuration may stay refused before /readyz says no; 1s to 1h. Default: /readyz does not tell.",
  ),
});

const drain = section("How the process ends.", {
  min: duration("0s", 0, 3_600_000).describe("How long listeners stay open after SIGTERM, like 5s; 0s to 1h."),
});

/** The configuration file. Every key that it may have is here or in the schemas named here, and nowhere else. */
export const configSchema = mapping("Configuration of Countersign.", {
  listeners: listOf(listener, 1).describe("Where applications call."),
  callbacks: withDefault(listOf(callbackListener), []).describe(
    "Where the service calls: callbacks are verified there, and handed to the application (docs/callbacks.md).",
  ),
  admin: mapping("/livez, /readyz and /metrics, for kubelet and Prometheus; nothing else.", {
    bind: bind(":7412"),
    hosts: hosts.describe(
      "Host names under which /metrics is shown, beside IP addresses, localhost and the machine's own; probes may use any.",
    ),
  }),
  status: mapping("The status page on /, and the same as JSON on /status; loopback only.", {
    bind: bind("127.0.0.1:7413"),
  }),
  environments: z.record(plainName, environmentSchema).describe("The service's environments, by names of your choice."),
  tokens,
  redis: redis.optional(),
  once: once.optional(),
  timeouts,
  limits,
  log,
  metrics,
  tracing: tracing.optional(),
  readiness: withDefault(z.enum(["listening", "token"]), "listening").describe(
    "What /readyz waits for: listening, or a first token of every default site.",
  ),
  reload,
  drain,
  docs: mapping("Where this documentation is.", {
    baseUrl: url("https://docs.example/countersign").describe(
      "Where its site is, as `npm run docs` makes it. The `type` of a failure leads into docs/reference/errors.html there.",
    ),
  }).optional(),
  acknowledge: withDefault(listOf(z.enum(warningCodes)), []).describe(
    "Codes of warnings that are known: `check` lists them in one line, and the log leaves them out. They are: " +
      `${warningCodes.map((code) => `\`${code}\``).join(", ")}.`,
  ),
});

/** The file's content after the schema: typed, defaults filled in, nothing looked up yet. */
export type RawConfig = z.output<typeof configSchema>;
export type RawRedis = z.output<typeof redis>;
export type RawTracing = z.output<typeof tracing>;

let schemaKnown: SchemaNode | undefined;

/** The configuration's JSON Schema (2020-12), made once from the very schema that reads it: that takes 5 ms. */
export function jsonSchema(): SchemaNode {
  schemaKnown ??= {
    ...(z.toJSONSchema(configSchema, { io: "input", target: "draft-2020-12" }) as SchemaNode),
    title: "Countersign configuration",
  };
  return schemaKnown;
}

/** A node of the JSON Schema, as far as it helps a person. */
export interface SchemaNode {
  readonly title?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly examples?: readonly unknown[];
}

/** What may stand at a path: one node, or several alternatives; none where nothing may. */
export function nodesAt(path: Path): readonly SchemaNode[] {
  return path.reduce<readonly SchemaNode[]>(
    (nodes, part) => nodes.flatMap((node) => within(node, part)).flatMap(alternatives),
    alternatives(jsonSchema()),
  );
}

function alternatives(node: SchemaNode): readonly SchemaNode[] {
  return node.anyOf?.flatMap(alternatives) ?? [node];
}

function within({ items, properties = {}, additionalProperties }: SchemaNode, part: string | number): SchemaNode[] {
  const child =
    typeof part === "number" ? items : (Object.getOwnPropertyDescriptor(properties, part)?.value as SchemaNode);
  if (child !== undefined) return [child];
  return typeof part === "string" && typeof additionalProperties === "object" ? [additionalProperties] : [];
}
