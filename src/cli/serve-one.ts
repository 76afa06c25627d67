import { tooLarge } from "../adapters/http-server/read-body.ts";
import type { Config } from "../config/config.ts";
import { systemClock } from "../model/clock.ts";
import type { Environment } from "../model/environment.ts";
import type { FailureCode } from "../model/errors.ts";
import { createRequestHandler, type RequestHandlerParts } from "../orders/handler.ts";
import { BufferBudget } from "../serving/buffer-budget.ts";
import { ConcurrencyLimit } from "../serving/concurrency-limit.ts";
import { SlowAnswers } from "../serving/forward.ts";
import type { Answer } from "../serving/messages.ts";
import { inOptions, usageFailure } from "./command.ts";
import { printable } from "./terminal.ts";

/** A request that a command makes in place of an application. */
export interface OneRequest {
  readonly environment: Environment;
  readonly operation: string;
  /** S… or K…, as in Countersign-Site. */
  readonly site?: string | undefined;
  /** As in Countersign-Auth. */
  readonly auth?: string | undefined;
  readonly body: Uint8Array;
}

/**
 * Serves one request with the request handler of `serve`, without a listener.
 * @returns the answer that a caller would get; undefined if the caller would have left
 */
export async function serveOne(
  { environment, operation, site, auth, body }: OneRequest,
  config: Config,
  parts: Pick<RequestHandlerParts, "report" | "send" | "tokensOf" | "newRequestId">,
): Promise<Answer | undefined> {
  let response: Answer | undefined;
  const all: RequestHandlerParts = {
    ...parts,
    clock: systemClock,
    upstreamHeaders: [],
    slowAnswers: new SlowAnswers(),
    once: { shared: undefined, lifetimeMs: 0, redisWaitMs: 0, header: "Countersign-Once" },
    requestMs: config.timeouts.requestMs,
    concurrency: new ConcurrencyLimit(1),
    buffers: new BufferBudget(Number.POSITIVE_INFINITY, systemClock),
  };
  const { bodyBytes } = config.limits;
  const listener = { environment, hosts: new Set(["localhost"]), url: "http://localhost" };
  // The request may wait for nothing but a timer of `systemClock`, and these keep no process running.
  const running = setInterval(() => {}, config.timeouts.requestMs);
  const handling = createRequestHandler(all, listener).handle({
    method: "POST",
    target: `/${operation}`,
    headers: [
      "host",
      "localhost",
      "content-type",
      "application/json",
      ...(site === undefined ? [] : ["countersign-site", site]),
      ...(auth === undefined ? [] : ["countersign-auth", auth]),
    ],
    headBytes: 0,
    readBody() {
      if (body.length > bodyBytes) throw tooLarge(bodyBytes);
      return body;
    },
    isClosed: () => false,
    answeredStatus: () => undefined,
    answer(given) {
      response = given;
      return undefined;
    },
  });
  await handling.finally(() => clearInterval(running));
  return response;
}

/** The environment that an option names, or the only environment. */
export function pickEnvironment({ environments }: Config, wanted: string | undefined): Environment {
  const [only, ...others] = environments.values();
  const environment = wanted === undefined && others.length === 0 ? only : environments.get(wanted ?? "");
  if (environment !== undefined) return environment;
  const unknown = wanted === undefined ? "" : `There is no environment ${printable(wanted)}. `;
  throw usageFailure(`${unknown}Name the environment with --environment: ${[...environments.keys()].join(" or ")}.`);
}

/** The content of a failure answer that Countersign itself gives (RFC 9457), in the words of the command line. */
export function problemOf({ body }: Answer) {
  const problem: { readonly status: number; readonly code: FailureCode; readonly detail: string } = JSON.parse(
    Buffer.from(body as Uint8Array).toString("utf8"),
  );
  return { ...problem, detail: inOptions(problem.detail) };
}
