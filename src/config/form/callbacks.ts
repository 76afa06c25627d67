import * as z from "zod";
import { defaultExempt } from "../../signing/signature.ts";
import {
  bind,
  duration,
  flag,
  listOf,
  mapping,
  parameterName,
  plainName,
  tlsFiles,
  url,
  withDefault,
} from "./fields.ts";
import { callersMtls } from "./listeners.ts";

const application = mapping("The application that genuine callbacks are handed to.", {
  url: url("http://127.0.0.1:8080/callbacks").describe(
    "Its own URL for callbacks; the query of a callback is added. Other than on loopback it is https.",
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
  environment: plainName.describe("The environment whose sites are called back; their keys verify (spec 5.3, 6)."),
  application,
  exempt: withDefault(listOf(parameterName), [...defaultExempt]).describe(
    "Names that the service does not sign (spec 5.2 step 1): anyone can change them. signature is never signed.",
  ),
  remember: duration("168h", 3_600_000, 2_592_000_000).describe(
    "How old a callback's timestamp may be, and how long a delivered one is remembered; 1h to 720h.",
  ),
  replay: withDefault(z.enum(["strict", "best_effort"]), "strict").describe(
    "What happens to a callback that may have been delivered before. strict: 503, so that the service repeats. best_effort: it passes, and is counted.",
  ),
  mtls: callersMtls
    .describe("TLS with whatever calls here, such as an ingress, which proves itself with a certificate.")
    .optional(),
});

export type RawCallbackListener = z.output<typeof callbackListener>;
