import { onTestFinished } from "vitest";
import { exchange } from "../src/adapters/http-client/attempt.ts";
import { Pool } from "../src/adapters/http-client/connection-pool.ts";
import type { Clock } from "../src/model/clock.ts";
import type { Tls } from "../src/model/environment.ts";
import { ProxyError } from "../src/model/errors.ts";
import type { UpstreamRequest, UpstreamResponse } from "../src/serving/messages.ts";
import { addressOf } from "./address.ts";
import { noTls } from "./certificates.ts";
import { ShiftedClock } from "./shifted-clock.ts";

export interface PoolOptions {
  readonly connections?: number;
  readonly requestsPerConnection?: number;
  readonly connectTimeoutMs?: number;
  readonly tls?: Tls;
}

export interface AttemptOptions extends Partial<UpstreamRequest> {
  readonly timeoutMs?: number;
  readonly onConnected?: () => void;
}

/** A pool of connections to a service, and the result of each request: `200 {}`, or `upstream_reset unknown ECONNRESET`. */
export function openServicePool(url: string, options: PoolOptions = {}) {
  const { connections = 4, connectTimeoutMs = 5_000, requestsPerConnection, tls = noTls } = options;
  const clock = new ShiftedClock();
  const settings = { address: addressOf(url), tls, connectTimeoutMs, connections, requestsPerConnection };
  const pool = new Pool(settings, clock satisfies Clock);
  onTestFinished(() => pool.destroy());
  const send = ({ timeoutMs = 30_000, onConnected = () => {}, ...request }: AttemptOptions = {}) =>
    exchange(pool, { path: "/x", headers: [], render: () => "{}", ...request }, clock.nowMs() + timeoutMs, {
      onConnected,
    });
  const outcome = (options?: AttemptOptions) => send(options).then(read).catch(explain);
  return { pool, clock, send, outcome };
}

export async function bodyOf({ body }: UpstreamResponse): Promise<string> {
  if (body instanceof Uint8Array) return Buffer.from(body).toString("latin1");
  let text = "";
  for await (const piece of body) text += Buffer.from(piece).toString("latin1");
  return text;
}

async function read(response: UpstreamResponse): Promise<string> {
  return `${response.status} ${await bodyOf(response)}`;
}

export function explain(error: unknown): string {
  return error instanceof ProxyError ? `${error.code} ${error.outcome} ${error.causedBy}` : String(error);
}
