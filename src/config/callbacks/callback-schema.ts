import * as z from "zod";
import { defaultExempt } from "../../signing/parameter-rules.ts";
import { bind, duration, flag, listOf, mapping, parameterName, parsed, plainName, text, tlsFiles } from "../fields.ts";
import { readAddress, urlPattern } from "../values.ts";

const application = mapping("The application that genuine callbacks are handed to.", {
  url: parsed(readAddress, { pattern: urlPattern, example: "http://127.0.0.1:8080/callbacks" }).describe(
    "Its own URL for callbacks; the query of a callback is added. Other than on loopback it is https.",
  ),
  timeout: duration("10s", 100, 60_000).describe(
    "From the complete callback to the end of the application's answer, within timeouts.request; 100ms to 60s.",
  ),
  tls: tlsFiles.prefault({}).describe("TLS towards the application. Certificates are always verified."),
  allowPlaintext: flag(false).describe(
    "Allow http:// beyond loopback: anyone in between can read callbacks, and forge `Countersign-Verified`.",
  ),
});

const mtls = mapping("TLS with whatever calls here, such as an ingress, which proves itself with a certificate.", {
  caFile: text.describe("PEM file of the authorities that certificates of callers must come from; no others count."),
  certFile: text.describe("PEM file of the listener's own certificate."),
  keyFile: text.describe("PEM file of its key, without a passphrase."),
});

export const callbackListener = mapping("A place where the service calls.", {
  bind: bind("127.0.0.1:7414"),
  environment: plainName.describe("The environment whose sites are called back; their keys verify (spec 5.3, 6)."),
  application,
  exempt: listOf(parameterName)
    .default([...defaultExempt])
    .describe(
      "Names that the service does not sign (spec 5.2 step 1), and so nothing vouches for; signature never is. Default: format, signature, call.",
    ),
  window: duration("300s", 10_000, 3_600_000).describe(
    "How far a callback's timestamp may be from this machine's clock, either way; 10s to 3600s.",
  ),
  replay: z
    .enum(["strict", "best_effort"])
    .default("strict")
    .describe(
      "What happens while what was delivered before cannot be looked up. strict: 503, so that the service repeats. best_effort: the callback passes, and is counted.",
    ),
  mtls: mtls.optional(),
});

export type RawCallbackListener = z.output<typeof callbackListener>;
