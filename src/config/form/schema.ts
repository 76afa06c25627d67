import * as z from "zod";
import { type Path, warningCodes } from "../diagnostics.ts";
import { environmentSchema } from "./environment.ts";
import {
  bind,
  codec,
  count,
  duration,
  durationWithin,
  environmentName,
  headerName,
  inFile,
  listOf,
  mapping,
  optional,
  printable,
  secretSource,
  section,
  textLike,
  tlsFiles,
  url,
  withDefault,
} from "./fields.ts";
import { callbackListener, hosts, listener } from "./listeners.ts";
import { hostPortForm, redisNodeForm } from "./values.ts";

const tokens = section("Where tokens are kept (spec 5.4).", {
  cache: withDefault(z.enum(["memory", "redis"]), "memory").describe(
    "memory: each replica has its own, nothing to install. redis: all replicas share them.",
  ),
});

const sentinel = mapping("Sentinels, instead of url.", {
  name: textLike("mymaster").describe("Name of the master that the Sentinels watch."),
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
  username: optional(z.union([textLike("countersign"), inFile])).describe(
    "ACL user of every node, or `{ file: … }` with the user's name; needs password. If password has the same file, its first line is the user name, the second the password. Default: Redis's default user.",
  ),
  password: optional(secretSource).describe("Where the user's password is."),
  tls: tlsFiles
    .describe("TLS towards Redis: `tls: {}` turns it on for sentinel and cluster; with url write rediss://.")
    .optional(),
  lockNodes: listOf(codec(redisNodeForm, "rediss://lock-2:6379"))
    .prefault([])
    .describe(
      "More independent masters, written like url. Together with url an odd number, at least 3: a majority locks.",
    ),
  encryptionKeys: withDefault(listOf(secretSource), []).describe(
    "Keys of 64 hex digits (`countersign keygen`); the first encrypts (AES-256-GCM), all decrypt.",
  ),
});

const once = mapping("Settings of `Countersign-Once`; needs `tokens.cache: redis` (docs/once.md).", {
  ttl: duration("24h", 900_000, 2_592_000_000).describe(
    "How long a key and its answer are remembered; later a repetition is sent again. 15m to 720h.",
  ),
  wait: duration("1s", 0, 60_000).describe(
    "How long a request with a key waits for a Redis that does not answer, before 503 once_unavailable; 0s to 60s.",
  ),
  durability: withDefault(z.enum(["none", "replica"]), "none").describe(
    "`replica`: nothing is sent before a replica of Redis has confirmed the key (WAIT); else 503 once_unavailable.",
  ),
  header: withDefault(z.enum(["Countersign-Once", "Idempotency-Key"]), "Countersign-Once").describe(
    "`Idempotency-Key`: keys come in that header too, in double quotes (draft-ietf-httpapi-idempotency-key-header).",
  ),
});

const timeouts = section("Time limits: a whole number with ms, s, m or h.", {
  request: duration("20s", 100, 600_000).describe(
    "From a request's head to the end of its answer, retry and waiting included; 100ms to 10m.",
  ),
  connect: duration("2s", 10, 60_000).describe(
    "To connect to any server but Redis, a proxy's tunnel and TLS included; 10ms to 60s.",
  ),
  token: duration("5s", 10, 60_000).describe(
    "Longest wait of a request for a token, and longest token request; 10ms to 60s.",
  ),
});

const limits = section("Limits of requests, connections and memory.", {
  inFlightPerEnvironment: count(256, 1, 100_000).describe("Requests served at once; more get 503 overloaded."),
  connections: count(1_024, 1, 100_000).describe(
    "Connections per listener; more get 503 overloaded, unless a connection that has been quiet for a second gives way. Lowered, with a warning, if the process may open too few descriptors (ulimit -n).",
  ),
  bodyBytes: count(262_144, 1_024, 16_777_216).describe("Longest request body, in bytes."),
  responseHeaderBytes: count(65_536, 16_384, 262_144).describe(
    "Longest head of an answer of the service, an authorization server or an application, in bytes. A request whose answer has a longer head is of unknown outcome.",
  ),
  bufferedBytes: optional(z.int().min(1_048_576).max(1_099_511_627_776)).describe(
    "Memory for bodies and answers under way; more get 503 overloaded. Default: by the container's memory limit (docs/performance.md); 256 MiB without one.",
  ),
});

const log = section("The log, on standard output.", {
  level: withDefault(z.enum(["trace", "debug", "info", "warn", "error", "fatal"]), "info").describe(
    "Least severe level written; the line with the destination of each listener always is.",
  ),
  upstreamHeaders: withDefault(listOf(headerName.toLowerCase()), ["x-request-id"]).describe(
    "Headers of the service's answers that are logged: its own correlation identifiers (spec 5.4).",
  ),
});

const metrics = section("Labels of /metrics.", {
  sites: optional(z.enum(["named", "none"])).describe(
    "`none`: the labels site and credential are `all`, and there are no gauges of single credential sets; 10,000 sites have as " +
      "many series as one site. Default: named; none if an environment's sites are in a folder.",
  ),
});

const otlp = mapping("The collector, which must accept OTLP over HTTP in JSON.", {
  endpoint: url("https://collector:4318/v1/traces").describe("The collector's whole address, `/v1/traces` included."),
  headers: withDefault(z.record(headerName, secretSource), {}).describe(
    "Headers of each export, such as an API key or a tenant.",
  ),
  tls: tlsFiles.prefault({}).describe("TLS towards the collector."),
});

const tracing = mapping("OpenTelemetry spans; without this section there are none (docs/tracing.md).", {
  otlp,
  sampleRatio: withDefault(z.number().min(0).max(1), 1).describe(
    "Recorded share of the traces that begin here. A caller's own trace is recorded if its `traceparent` says so.",
  ),
  serviceName: withDefault(printable, "countersign").describe("`service.name` of the spans."),
  resource: withDefault(z.record(printable, z.string()), {}).describe(
    "Further attributes of all spans, like `deployment.environment.name`.",
  ),
  propagate: withDefault(z.enum(["callers", "always", "never"]), "callers").describe(
    "Whether the service gets `traceparent`, with the span of the attempt. callers: if the caller sent one, as without tracing. always: with every request. never: neither that nor `tracestate`.",
  ),
});

const reload = section("How changes of the configuration and its secrets are loaded.", {
  unreadyAfterRefusal: optional(durationWithin(1_000, 3_600_000, "60s")).describe(
    "How long the newest configuration may stay refused before /readyz fails; 1s to 1h. Default: no limit.",
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
    bind: bind("127.0.0.1:7412"),
    hosts: hosts.describe(
      "Host names for /metrics, beside IP addresses, localhost and the machine's own name; probes may use any name.",
    ),
  }),
  status: mapping("The status page on /, and the same as JSON on /status; loopback only. Absent: no page.", {
    bind: bind("127.0.0.1:7413"),
  }).optional(),
  environments: z
    .record(environmentName, environmentSchema)
    .describe("The service's environments, by names of your choice."),
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
      "Address of the web site that `npm run docs` makes. The `type` of a failure, and the links of the status page and of `doctor`, lead there.",
    ),
  }).optional(),
  acknowledge: withDefault(listOf(z.enum(warningCodes)), []).describe(
    "Codes of warnings that you accept: `check` lists these in one line, and the log leaves them out. The codes: " +
      `${warningCodes.map((code) => `\`${code}\``).join(", ")}.`,
  ),
});

/** The file's content as read by the schema: typed, with defaults; no other file is read yet. */
export type RawConfig = z.output<typeof configSchema>;
export type RawRedis = z.output<typeof redis>;
export type RawTracing = z.output<typeof tracing>;

let schemaKnown: SchemaNode | undefined;

/** The configuration's JSON Schema (2020-12), made once, in 5 ms, from the schema that reads the configuration. */
export function jsonSchema(): SchemaNode {
  schemaKnown ??= {
    ...(z.toJSONSchema(configSchema, { io: "input", target: "draft-2020-12" }) as SchemaNode),
    title: "Countersign configuration",
  };
  return schemaKnown;
}

/** A node of the JSON Schema: the keys that are used here. */
export interface SchemaNode {
  readonly title?: string;
  readonly type?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly propertyNames?: SchemaNode;
  /** Present for a section, which may be left out. */
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly examples?: readonly unknown[];
}

/** The schema at a path: one node, or several alternatives; none if nothing is allowed there. */
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
