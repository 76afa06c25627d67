import * as z from "zod";
import { listOf, mapping, parsed, secretSource, tlsFiles } from "../fields.ts";
import { noProxyPattern, readNoProxyRule } from "./no-proxy.ts";
import { proxyUrlPattern, readProxyUrl } from "./proxy-url.ts";

const proxied = mapping("A forward proxy: each connection goes through a tunnel of its own (CONNECT).", {
  proxy: parsed(readProxyUrl, { pattern: proxyUrlPattern, example: "http://proxy.example:3128" }).describe(
    "Address of the proxy, `http://host:port` or `https://host:port`. User and password go into auth.",
  ),
  auth: secretSource
    .optional()
    .describe(
      "Where `user:password` for the proxy is, in one line: `{ file: … }` or `{ env: … }`. Sent as HTTP Basic.",
    ),
  noProxy: listOf(parsed(readNoProxyRule, { pattern: noProxyPattern, example: ".cluster.local" }))
    .default([])
    .describe(
      "What is reached without the proxy: `host` (with its subdomains), `.host` (its subdomains), an address, `10.0.0.0/8`, each with `:port` if wanted but for the last, or `*`. Loopback always is.",
    ),
  tls: tlsFiles.prefault({}).describe("TLS towards a proxy with https://. Certificates are always verified."),
});

export const egress = z
  .union([z.literal("environment"), proxied], { error: "write environment or { proxy: http://host:port }" })
  .describe(
    "The way out, to the service and the authorization server (docs/egress.md): a `proxy`, or `environment` for what HTTPS_PROXY and NO_PROXY of the process say. Default: directly, whatever these variables say.",
  );

export type RawEgress = z.output<typeof egress>;
