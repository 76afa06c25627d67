import * as z from "zod";
import {
  callerTokenSource,
  listOf,
  mapping,
  matching,
  parsed,
  plainName,
  secretSource,
  siteIdentifier,
  text,
} from "../fields.ts";
import { certificateNamePattern, readCertificateName } from "../values.ts";

/** TLS with callers; the authorities vouch for names, and say nothing of rights. */
export const callersMtls = mapping("The files for TLS with callers.", {
  caFile: text.describe("PEM file of the authorities that callers' certificates must come from; no others count."),
  certFile: text.describe("PEM file of the listener's own certificate."),
  keyFile: text.describe("PEM file of its key, without a passphrase."),
});

const certificateName = parsed(readCertificateName, {
  pattern: certificateNamePattern,
  example: "spiffe://prod.example/ns/pay/sa/payments",
});

/** An operation, or the prefix of a pass-through route. */
const operation = matching(
  /^(?:[A-Za-z0-9_-]+(?:\/[A-Za-z0-9_-]+)*|\/(?:[^/?#\s]+\/)+)$/,
  "write an operation, like create_order, or the prefix of a route, like /files/; leave operations out to allow all of the environment",
);

const caller = mapping("A caller: what proves it, and what it may do.", {
  token: z
    .union([...secretSource.options, listOf(secretSource, 1)])
    .optional()
    .describe(
      "Where its token is, at least 16 bytes; a list while one replaces another. It comes in Proxy-Authorization (`Bearer`, or `Basic` with it as the password).",
    ),
  certificate: z
    .union([certificateName, listOf(certificateName, 1)])
    .optional()
    .describe(
      "A name of its certificate, exactly: a URI such as a SPIFFE ID, or a DNS name, as a subject alternative name; a list while one replaces another. The listener needs `mtls`.",
    ),
  sites: listOf(siteIdentifier, 1)
    .optional()
    .describe("Sites that it may use, children by their own identifiers. Default: all of the environment."),
  operations: listOf(operation, 1)
    .optional()
    .describe(
      "Operations that it may call, and prefixes of pass-through routes, of those of the environment. Default: all of these.",
    ),
  requestsPerSecond: z
    .number()
    .min(0.01)
    .max(100_000)
    .optional()
    .describe(
      "How many requests it may make at each replica, in bursts of as many, at least one; more get 429. Default: no limit of its own.",
    ),
});

/** The keys of the other forms are no names. */
const callerName = plainName.refine((name) => name !== "tokens" && name !== "mtls", {
  error: "name each caller: tokens and mtls are the keys of other forms",
});

export const callers = z
  .union(
    [
      z.literal("anyone").describe("Everyone who can reach the listener; for a network policy that decides instead."),
      mapping("Callers prove themselves with a token, and may do everything: the form of before names and rights.", {
        tokens: listOf(callerTokenSource, 1).describe(
          "Tokens that callers give in Proxy-Authorization (`Bearer`, or `Basic` with it as the password); several while one replaces another. A `name` beside `file` or `env` says in the log who called; without one it is the file's or the variable's own name.",
        ),
      }),
      mapping("Whoever has a certificate of the authorities may do everything: the form of before names and rights.", {
        mtls: callersMtls,
      }),
      z.record(callerName, caller).describe("Callers by name, each with what proves it and what it may do."),
    ],
    {
      error: "write anyone, or each caller's name and what proves it: { NAME: { token: { file: /path } } }",
    },
  )
  .describe(
    "Who may call, which a listener beyond loopback or a Unix socket has to say: callers by name, or the written word `anyone`. `tokens` and `mtls` are the form of before, without rights.",
  );

export type RawCaller = z.output<typeof caller>;
