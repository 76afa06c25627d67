import * as z from "zod";
import { defaultExempt } from "../../parameters/signature.ts";
import {
  bind,
  codec,
  duration,
  environmentName,
  flag,
  listOf,
  mapping,
  matching,
  optional,
  parameterName,
  pathLike,
  plainName,
  secretSource,
  siteIdentifier,
  tlsFiles,
  url,
  withDefault,
} from "./fields.ts";
import { certificateNameForm } from "./values.ts";

/** TLS with callers. The authorities prove names; they give no rights. */
const callersMtls = mapping("The files for TLS with callers.", {
  caFile: pathLike("ca.pem").describe(
    "PEM file of the authorities that callers' certificates must come from; no others are trusted.",
  ),
  certFile: pathLike("cert.pem").describe("PEM file of the listener's own certificate."),
  keyFile: pathLike("key.pem").describe("PEM file of that certificate's key, without a passphrase."),
});

const certificateName = codec(certificateNameForm, "spiffe://prod.example/ns/pay/sa/payments");

/** An operation, or the prefix of a pass-through route. */
const operation = matching(
  /^(?:[A-Za-z0-9_-]+(?:\/[A-Za-z0-9_-]+)*|\/(?:[^/?#\s]+\/)+)$/,
  "write an operation or the prefix of a route, or leave operations out to allow all of the environment",
  "create_order",
);

const caller = mapping("A caller: its token or certificate, and its rights.", {
  token: optional(z.union([...secretSource.options, listOf(secretSource, 1)])).describe(
    "Where the caller's token is, at least 16 bytes; a list during a change. The caller sends it in Proxy-Authorization (`Bearer`, or as the password of `Basic`).",
  ),
  certificate: optional(z.union([certificateName, listOf(certificateName, 1)])).describe(
    "A subject alternative name of the caller's certificate, in full: a URI such as a SPIFFE ID, or a DNS name; a list during a change. The listener needs `mtls`.",
  ),
  sites: optional(listOf(siteIdentifier, 1)).describe(
    "Sites that the caller may use, child sites by their own identifiers. Default: all of the environment.",
  ),
  operations: optional(listOf(operation, 1)).describe(
    "Operations, and prefixes of pass-through routes, of the environment that the caller may use. Default: all.",
  ),
  requestsPerSecond: optional(z.number().min(0.01).max(100_000)).describe(
    "The caller's requests a second at each replica; a burst may have as many, at least one. More get 429. Default: no limit.",
  ),
});

const callers = z
  .union(
    [
      z.literal("anyone").describe("Everyone who can reach the listener; a network policy should limit that."),
      z
        .record(plainName("shop"), caller)
        .describe("Callers by name, each with its token or certificate and its rights."),
    ],
    {
      error: "write anyone, or each caller's name and what proves it: { NAME: { token: { file: /path } } }",
    },
  )
  .describe("Who may call: callers by name, or the word `anyone`. Required except on loopback or a Unix socket.");

const host = matching(/^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)$/, "write a host's name without a port", "countersign");
export const hosts = listOf(host.toLowerCase()).default([]);

export const listener = mapping("A place where applications call.", {
  bind: bind("127.0.0.1:7411"),
  environment: environmentName.describe("The environment that everything on this listener belongs to."),
  hosts: hosts.describe("Host names accepted beside loopback names, the bind address and the baseUrl's host."),
  callers: callers.optional(),
  mtls: callersMtls.describe("TLS with named callers, each of which proves itself with a `certificate`.").optional(),
});

const application = mapping("The application that genuine callbacks are handed to.", {
  url: url("http://127.0.0.1:8080/callbacks").describe(
    "The application's URL for callbacks; the query of a callback is added. It must be https, except on loopback.",
  ),
  timeout: duration("10s", 100, 60_000).describe(
    "From the complete callback to the end of the application's answer, within timeouts.request; 100ms to 60s.",
  ),
  tls: tlsFiles.prefault({}).describe("TLS towards the application."),
  allowPlaintext: flag(false).describe(
    "Allow http:// beyond loopback: anyone in between can read callbacks, and forge `Countersign-Verified`.",
  ),
});

export const callbackListener = mapping("A place where the service calls.", {
  bind: bind("127.0.0.1:7414"),
  environment: environmentName.describe(
    "The environment whose sites are called back; their keys verify (spec 5.3, 6).",
  ),
  application,
  exempt: withDefault(listOf(parameterName), [...defaultExempt]).describe(
    "Parameters that the service does not sign (spec 5.2 step 1): anyone can change them. `signature` is never signed.",
  ),
  remember: duration("168h", 3_600_000, 2_592_000_000).describe(
    "How old a callback's timestamp may be, and how long a delivered callback is remembered; 1h to 720h.",
  ),
  replay: optional(z.enum(["strict", "best_effort"])).describe(
    "What happens to a callback that may have been delivered before. strict: 503, so that the service repeats it. best_effort: it passes, and is counted. Default: strict with `tokens.cache: redis`, else best_effort.",
  ),
  mtls: callersMtls
    .describe("TLS with a client, such as an ingress, that must prove itself with a certificate.")
    .optional(),
});

export type RawCaller = z.output<typeof caller>;
export type RawListener = z.output<typeof listener>;
export type RawCallbackListener = z.output<typeof callbackListener>;
