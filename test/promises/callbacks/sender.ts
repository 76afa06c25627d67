import { createHmac } from "node:crypto";
import { expect } from "vitest";
import { type FailureCode, failures, type Outcome } from "../../../src/model/errors.ts";
import { ask, type RawAnswer } from "../../../testkit/raw-caller.ts";
import type { Received } from "../../../testkit/stage/callbacks.ts";

/** Parameters of a callback, in the order in which they are sent. */
export type Given = Readonly<Record<string, string>>;

export const site = "S1000000003";
export const key = "K2000000001";
export const secret = "canary-api-secret-key-one";

/** Written from the specification alone (spec 5.2); shares no code with the product. */
export function signatureOf(
  parameters: Readonly<Record<string, unknown>>,
  by = secret,
  exempt = ["format", "signature", "call"],
): string {
  const names = Object.keys(parameters).filter((name) => !exempt.includes(name));
  const text = names.sort().map((name) => `${name}${parameters[name]}`);
  return createHmac("sha256", by).update(text.join("")).digest("hex");
}

/** A genuine callback whose timestamp is now. */
export function callbackOf(given: Given = {}, by = secret, exempt?: string[]): Given {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const parameters = { version: "3.0", site_identifier: site, timestamp, event: "order_paid", ...given };
  return { ...parameters, signature: signatureOf(parameters, by, exempt) };
}

export const formOf = (parameters: Given) => new URLSearchParams(parameters).toString();

export interface Sent {
  readonly method?: string;
  readonly target?: string;
  readonly type?: string | undefined;
  readonly body?: string;
  /** More header lines, whole. */
  readonly more?: readonly string[];
}

/** One callback on a connection of its own. */
export function send(port: number, { method = "POST", target = "/hook", type, body = "", more = [] }: Sent) {
  const bytes = Buffer.from(body, "utf8");
  const lines = [
    `${method} ${target} HTTP/1.1`,
    "Host: callbacks.example",
    "Connection: close",
    ...(type === undefined ? [] : [`Content-Type: ${type}`]),
    ...(method === "GET" ? [] : [`Content-Length: ${bytes.length}`]),
    ...more,
  ];
  return ask(port, `${lines.join("\r\n")}\r\n\r\n${bytes.toString("latin1")}`);
}

export const json = "application/json";
export const form = "application/x-www-form-urlencoded";

/** A genuine callback in each of the three forms; `text` is the content of the body or of the query. */
export const forms: readonly (readonly [name: string, write: (parameters: Given) => Sent])[] = [
  ["POST JSON", (parameters) => ({ type: json, body: JSON.stringify(parameters) })],
  ["POST form", (parameters) => ({ type: form, body: formOf(parameters) })],
  ["GET query", (parameters) => ({ method: "GET", target: `/hook?${formOf(parameters)}` })],
];

export function sendJson(port: number, parameters: Given, more: readonly string[] = []): Promise<RawAnswer> {
  return send(port, { type: json, body: JSON.stringify(parameters), more });
}

/** A genuine callback with the present timestamp, different from all others. */
let counted = 0;
export function freshCallback(given: Given = {}): Given {
  counted += 1;
  return callbackOf({ number: String(counted), ...given });
}

export const headersOf = ({ headers }: Received): ReadonlyMap<string, string> => new Map(headers);

/** Expects an answer that is this failure; returns its detail. */
export function expectProblem({ status, text }: RawAnswer, code: FailureCode, outcome: Outcome = "not_sent") {
  const problem = JSON.parse(text);
  expect({ ...problem, status }).toMatchObject({ code, outcome, status: failures[code].status });
  return problem;
}
