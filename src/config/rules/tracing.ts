import { hopByHop } from "../../http/headers.ts";
import type { Secret } from "../../model/secret.ts";
import type { TracingConfig } from "../config.ts";
import type { RawTracing } from "../form/schema.ts";
import type { LoadContext } from "./load-context.ts";
import { loadTls } from "./tls.ts";

/** Headers that Countersign sets on each export. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...hopByHop,
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
]);

/** Visible ASCII, with blanks between (RFC 9110 section 5.5). */
const headerValue = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** @param context of `tracing` */
export async function loadTracing(
  raw: RawTracing | undefined,
  context: LoadContext,
): Promise<TracingConfig | undefined> {
  if (raw === undefined) return undefined;
  const { otlp, sampleRatio, serviceName, resource, propagate } = raw;
  const at = context.in("otlp");
  const { endpoint } = otlp;
  if (endpoint.path === "") {
    const grpc = /:4317$/;
    const message = `the address has no path${grpc.test(endpoint.origin) ? ", and 4317 is the port of gRPC" : ""}`;
    const like = `${endpoint.origin.replace(grpc, ":4318")}/v1/traces`;
    at.in("endpoint").report(message, `write the whole address, like ${like}`);
  }
  const headers = await loadHeaders(otlp.headers, at.in("headers"));
  const tls = await loadTls(otlp.tls, at.in("tls"));
  return { endpoint, headers, tls, sampleRatio, serviceName, resource, propagate };
}

async function loadHeaders(raw: RawTracing["otlp"]["headers"], context: LoadContext): Promise<Map<string, Secret>> {
  const headers = new Map<string, Secret>();
  for (const [given, source] of Object.entries(raw)) {
    const at = context.in(given);
    const name = given.toLowerCase();
    if (ownHeaders.has(name)) at.report("this header is set by Countersign", "remove it", "hidden");
    if (headers.has(name)) at.report("the header is given twice", "keep one of them", "hidden");
    const value = await at.loadSecret(source);
    if (value === undefined) continue;
    if (!headerValue.test(value.reveal())) {
      at.report("this is no value of a header: one line of printable ASCII", "write the value alone", "hidden");
    }
    headers.set(name, value);
  }
  return headers;
}
