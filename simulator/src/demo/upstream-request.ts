import type { ApiRequest } from "../service/request-log.ts";
import type { DemoRequest } from "./call.ts";

/** `added`: the application did not send it. `rewritten`: it sent another value. */
export type Mark = "kept" | "added" | "rewritten";

/** A header or parameter, ready to be shown. */
export interface Line {
  readonly name: string;
  readonly value: string;
  readonly mark: Mark;
}

/** One request that left the proxy, as the service received it; without the token. */
export interface UpstreamRequest {
  readonly target: string;
  readonly headers: readonly Line[];
  readonly parameters: readonly Line[];
  /** The request's site, and the proof of its sender. */
  readonly arrived: string;
  /** The request's result at the service. */
  readonly became: string;
}

/** Headers of the connection, not of the request. */
const ofTheConnection = new Set(["host", "connection", "content-length"]);

/** Numbers tokens in the order of their first use, to distinguish them without showing them. */
export class TokenNumbers {
  readonly #tokens: string[] = [];

  of(token: string): number {
    if (!this.#tokens.includes(token)) this.#tokens.push(token);
    return this.#tokens.indexOf(token) + 1;
  }
}

export function describeUpstreamRequest(
  sent: DemoRequest,
  received: ApiRequest,
  numbers: TokenNumbers,
): UpstreamRequest {
  const proof = received.token === undefined ? "a signature" : `token no. ${numbers.of(received.token)}`;
  return {
    target: received.target,
    headers: describeHeaders(sent, received, proof),
    parameters: describeParameters(sent, received),
    arrived: `${received.site ?? "an unknown site"} with ${proof}`,
    became: describeFate(received),
  };
}

function describeHeaders({ headers }: DemoRequest, { rawHeaders }: ApiRequest, proof: string): Line[] {
  const lines: Line[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? "").toLowerCase();
    const value = rawHeaders[index + 1] ?? "";
    if (ofTheConnection.has(name)) continue;
    const shown = name === "authorization" ? `Bearer •••• (${proof})` : value;
    lines.push({ name, value: shown, mark: compare(headers[name], value) });
  }
  return lines;
}

function describeParameters({ body: sent }: DemoRequest, { body }: ApiRequest): Line[] {
  return Object.entries(JSON.parse(body.toString("utf8")) as Record<string, unknown>).map(([name, value]) => ({
    name,
    value: JSON.stringify(value),
    mark: compare(sent[name], value),
  }));
}

function compare(sent: unknown, received: unknown): Mark {
  if (sent === undefined) return "added";
  return sent === received ? "kept" : "rewritten";
}

function describeFate({ refusal, orderId, auth, answer }: ApiRequest): string {
  if (refusal !== undefined) return `${refusal.status} ${refusal.code}`;
  const good = auth === "hmac" ? "signature verified" : "token good";
  const created = orderId === undefined ? good : `${good}, ${orderId} created`;
  return answer?.ending === "cut" ? `${created}, connection cut` : created;
}
