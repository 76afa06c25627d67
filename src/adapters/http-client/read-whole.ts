import type { Deliver } from "../../callbacks/application.ts";
import { firstOf, type HeaderLines } from "../../http/headers.ts";
import type { Clock } from "../../model/clock.ts";
import { type FailureCode, ProxyError } from "../../model/errors.ts";
import { noAnswer, type TokenEndpoint } from "../../oauth/token-endpoint.ts";
import type { UpstreamResponse } from "../../serving/messages.ts";
import type { PostResult, PostSpans } from "../../tracing/span-exporter.ts";
import { exchange, type HttpRequest } from "./attempt.ts";
import type { Pool } from "./connection-pool.ts";
import { codeOf, longHeadCause } from "./transport-error.ts";

/** The answers that Countersign itself reads have a few hundred bytes: a token (RFC 6749 section 5.1), an application's status. */
const longestAnswerBytes = 65_536;

/** Connects to the token endpoint at a path, and posts to it. */
export function createTokenRequests(pool: Pool, path: string, clock: Clock): Pick<TokenEndpoint, "connect" | "post"> {
  return {
    async connect(timeoutMs) {
      const connected = new Error("connected");
      const leave = () => {
        throw connected;
      };
      const request = { path, headers: [], render: () => "" };
      // The connection is left idle, and the next request of the pool takes it.
      const reason: unknown = await exchange(pool, request, clock.nowMs() + timeoutMs, { onConnected: leave }).catch(
        (error) => error,
      );
      return reason === connected ? undefined : describeFailure(reason);
    },
    post({ contentType, body, authorization }, timeoutMs) {
      const headers = ["accept", "application/json", "content-type", contentType];
      if (authorization !== undefined) headers.push("authorization", authorization);
      return post(pool, { path, headers, body }, timeoutMs, clock);
    },
  };
}

/**
 * Posts OTLP in JSON to a collector.
 * @param headers of each request
 */
export function createPostSpans(pool: Pool, path: string, headers: HeaderLines, clock: Clock): PostSpans {
  const all = [...headers, "content-type", "application/json"];
  return (body, timeoutMs) => post(pool, { path, headers: all, body }, timeoutMs, clock);
}

/** Hands callbacks to an application; once more on a new connection, if the first one ended before a byte was written. */
export function createDeliver(pool: Pool): Deliver {
  return async ({ method, target, headers, body }, deadlineMs) => {
    const request = { method, path: target, headers, render: method === "GET" ? undefined : () => body };
    const response = await exchange(pool, request, deadlineMs)
      .catch((error) => (wasUnreachable(error) ? exchange(pool, request, deadlineMs) : Promise.reject(error)))
      .catch(failAsApplication);
    const whole = readWhole(response).catch(failAsApplication).then(checkLength);
    // An answer that breaks before it is read fails its reader later. It must not end the process.
    whole.catch(() => {});
    return { status: response.status, headers: response.headers, body: whole };
  };
}

/** Posts once, and never rejects. A redirect is returned like any answer. */
async function post(
  pool: Pool,
  { body, ...request }: Pick<HttpRequest, "path" | "headers"> & { readonly body: string },
  timeoutMs: number,
  clock: Clock,
): Promise<PostResult> {
  try {
    const response = await exchange(pool, { ...request, render: () => body }, clock.nowMs() + timeoutMs);
    const { status, headers } = response;
    const retryAfter = firstOf(headers, "retry-after") ?? firstOf(headers, "x-retry-after");
    const date = firstOf(headers, "date");
    // A failure's status says enough, even if its body breaks off.
    const whole = await readWhole(response).catch((error) => (status < 400 ? Promise.reject(error) : undefined));
    return { kind: "answered", status, retryAfter, date, body: whole?.toString("utf8") };
  } catch (error) {
    return describeFailure(error);
  }
}

function describeFailure(error: unknown): Exclude<PostResult, { kind: "answered" }> {
  if (!(error instanceof ProxyError)) return { kind: "failed", cause: codeOf(error) };
  if (error.code === "upstream_timeout") return { kind: "timed_out", cause: noAnswer };
  return { kind: "failed", cause: error.causedBy ?? "UNKNOWN" };
}

/**
 * The body of a response.
 * @returns undefined if it is longer than 64 KiB; the rest is not received
 * @throws the errors of the body
 */
async function readWhole(response: UpstreamResponse): Promise<Buffer | undefined> {
  const { body } = response;
  if (body instanceof Uint8Array) {
    return body.length > longestAnswerBytes ? undefined : Buffer.from(body.buffer, body.byteOffset, body.length);
  }
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    length += piece.length;
    if (length > longestAnswerBytes) {
      response.discard();
      return undefined;
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
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
const longHead: typeof unsound = [
  "application_failed",
  `The head of the application's answer is longer than ${longHeadCause} allows.`,
];
const described: { readonly [Code in FailureCode]?: readonly [FailureCode, string] } = {
  upstream_timeout: ["application_timeout", "The application gave no whole answer in time."],
  upstream_unreachable: ["application_unreachable", "No connection to the application."],
};

function wasUnreachable(error: unknown): boolean {
  return error instanceof ProxyError && error.code === "upstream_unreachable";
}

/** A failure on the way to the application has codes of its own: the service did not fail. */
function failAsApplication(error: unknown): never {
  if (!(error instanceof ProxyError) || error.code === "draining") throw error;
  const [code, detail] = error.causedBy === longHeadCause ? longHead : (described[error.code] ?? unsound);
  throw new ProxyError(code, detail, { outcome: error.outcome, causedBy: error.causedBy });
}
