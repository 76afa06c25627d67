import type { Deliver } from "../../callbacks/application.ts";
import { type FailureCode, ProxyError } from "../../model/errors.ts";
import type { Pool } from "./connection-pool.ts";
import { longestAnswerBytes, readWhole } from "./post.ts";

/**
 * Hands callbacks to an application.
 * @param pool of connections for one request each: none meets one that is about to close
 */
export function createDeliver(pool: Pool): Deliver {
  return async ({ method, target, headers, body }, deadlineMs) => {
    const request = { method, path: target, headers, render: () => body };
    const response = await pool.exchange(request, deadlineMs).catch(failAsApplication);
    const whole = readWhole(response).catch(failAsApplication).then(checkLength);
    // An answer that breaks before it is read fails its reader later. It must not end the process.
    whole.catch(() => {});
    return { status: response.status, headers: response.headers, body: whole };
  };
}

function checkLength(body: Uint8Array | undefined): Uint8Array {
  if (body !== undefined) return body;
  const detail = `The application's answer is longer than ${longestAnswerBytes} bytes.`;
  throw new ProxyError("application_failed", detail, { causedBy: "answer too long" });
}

const unsound: readonly [FailureCode, string] = [
  "application_failed",
  "The application's answer is not whole, or is not HTTP/1.1.",
];
const described: { readonly [Code in FailureCode]?: readonly [FailureCode, string] } = {
  upstream_timeout: ["application_timeout", "The application gave no whole answer in time."],
  upstream_unreachable: ["application_unreachable", "No connection to the application."],
};

/** A failure on the way to the application has codes of its own: the service did not fail. */
function failAsApplication(error: unknown): never {
  if (!(error instanceof ProxyError)) throw error;
  const [code, detail] = described[error.code] ?? unsound;
  throw new ProxyError(code, detail, { outcome: error.outcome, causedBy: error.causedBy });
}
