import { type IncomingHttpHeaders, type RequestOptions, request } from "node:http";
import { request as requestTls } from "node:https";
import { onTestFinished } from "vitest";
import type { FaultAction, FaultScope } from "../../simulator/src/service/fault.ts";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../simulator/src/service/simulator.ts";
import type { SimulatedSite } from "../../simulator/src/service/sites.ts";
import { type RawPost, rawPost } from "../../testkit/raw-caller.ts";
import { signatureOf } from "../promises/callbacks/sender.ts";

export const nowSeconds = 1_800_000_000;

export const parentCredentials = { clientId: "parent-client", clientSecret: "parent-secret", audience: "aud-1" };
export const childCredentials = { clientId: "child-client", clientSecret: "child-secret", audience: "aud-1" };

/** A parent with two children, one of them with its own credentials; and two sites that sign. */
const sites: readonly SimulatedSite[] = [
  { identifier: "S1", credentials: [parentCredentials], keys: [{ identifier: "K1", secret: "secret-k1" }] },
  { identifier: "S2", parent: "S1", keys: [{ identifier: "K2", secret: "secret-k2" }] },
  { identifier: "S3", parent: "S1", credentials: [childCredentials] },
  {
    identifier: "S4",
    keys: [
      { identifier: "K40", secret: "secret-k40", isDefault: true },
      { identifier: "K41", secret: "secret-k41" },
    ],
  },
  { identifier: "S5", version: "2.0", keys: [{ identifier: "K5", secret: "secret-k5" }] },
];

/** A simulator whose clock stands still unless the test moves it; stopped at the end of the test. */
export async function simulate(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const simulator = await startSimulator({ sites, nowMs: () => nowSeconds * 1000, ...options });
  onTestFinished(() => simulator.stop());
  return simulator;
}

/** A simulator, and a valid token. */
export async function simulateWithToken(options: Partial<SimulatorOptions> = {}) {
  const simulator = await simulate(options);
  return { simulator, token: await obtainToken(simulator) };
}

/** A simulator that misbehaves at its API, and a valid token. */
export async function simulateFault(fault: FaultAction & Partial<FaultScope>) {
  const staged = await simulateWithToken();
  staged.simulator.faults.add({ ...fault, host: "api" });
  return staged;
}

export const json = { "content-type": "application/json" };

export function order(siteIdentifier: string, more: Record<string, string> = {}): Record<string, string> {
  return {
    version: "3.0",
    site_identifier: siteIdentifier,
    timestamp: String(nowSeconds),
    order_amount: "12.50",
    order_currency: "USD",
    ...more,
  };
}

/** The parameters with their signature by spec 5.2. */
export function signed(parameters: Record<string, string>, secret: string) {
  return { ...parameters, signature: signatureOf(parameters, secret) };
}

export function grant(credentials: { clientId: string; clientSecret: string; audience: string }) {
  return {
    grant_type: "client_credentials",
    client_id: credentials.clientId,
    client_secret: credentials.clientSecret,
    audience: credentials.audience,
  };
}

/** An answer as a plain client sees it. */
export interface Received {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body as JSON. @throws SyntaxError if it is not JSON */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  readonly json: any;
  /** The error that ended the answer early: `read ECONNRESET` for an RST, `ECONNRESET` alone for a mere close. */
  readonly error: string | undefined;
}

export interface Sending extends RequestOptions {
  readonly body?: string | Buffer;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Called at each piece of the answer's body. */
  readonly onPiece?: () => void;
}

/** Sends one request on a new connection and never rejects: an error is a result. */
export function send(url: string, { body = "", onPiece, ...options }: Sending = {}): Promise<Received> {
  return new Promise((resolve) => {
    const start = url.startsWith("https:") ? requestTls : request;
    let head: Pick<Received, "status" | "headers"> = { status: undefined, headers: {} };
    let text = "";
    const end = (error?: NodeJS.ErrnoException) =>
      resolve({
        ...head,
        body: text,
        get json() {
          return JSON.parse(text);
        },
        error: error && [error.syscall, error.code].filter(Boolean).join(" "),
      });
    const outgoing = start(url, { method: "POST", agent: false, ...options }, (response) => {
      head = { status: response.statusCode, headers: response.headers };
      response.setEncoding("latin1");
      response.on("data", (chunk: string) => {
        text += chunk;
        onPiece?.();
      });
      response.on("end", () => end());
      response.on("error", end);
    });
    outgoing.on("error", end);
    outgoing.end(body);
  });
}

export function sendJson(url: string, value: unknown, headers: Record<string, string> = {}): Promise<Received> {
  return send(url, { headers: { ...json, ...headers }, body: JSON.stringify(value) });
}

export function askForToken(simulator: Simulator, credentials = parentCredentials): Promise<Received> {
  return sendJson(`${simulator.loginUrl}/oauth/token`, grant(credentials));
}

export async function obtainToken(simulator: Simulator, credentials = parentCredentials): Promise<string> {
  return (await askForToken(simulator, credentials)).json.access_token;
}

/** Sends create_order with a bearer token. */
export function orderWithToken(simulator: Simulator, token: string, siteIdentifier = "S1"): Promise<Received> {
  return sendJson(`${simulator.apiUrl}/create_order`, order(siteIdentifier), { authorization: `Bearer ${token}` });
}

/** create_order for site S1 with a bearer token, for bytes on a connection. */
export function rawOrder(token: string): RawPost {
  const more = [`Authorization: Bearer ${token}`];
  return { target: "/json-api/create_order", connection: [], more, body: JSON.stringify(order("S1")) };
}

export const bytesOf = (token: string): string => rawPost(rawOrder(token));

export const portOf = (url: string): number => Number(new URL(url).port);
