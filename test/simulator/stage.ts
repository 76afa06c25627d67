import { onTestFinished } from "vitest";
import type { FaultAction, FaultScope } from "../../simulator/src/service/fault.ts";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../simulator/src/service/simulator.ts";
import type { SimulatedSite } from "../../simulator/src/service/sites.ts";
import { type Received, sendJson } from "./client.ts";

export const nowSeconds = 1_800_000_000;

export const parentCredentials = { clientId: "parent-client", clientSecret: "parent-secret", audience: "aud-1" };
export const childCredentials = { clientId: "child-client", clientSecret: "child-secret", audience: "aud-1" };

/** A parent with two children, one of them with its own credentials; and two sites that sign. */
export const sites: readonly SimulatedSite[] = [
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
export async function stage(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const simulator = await startSimulator({ sites, nowMs: () => nowSeconds * 1000, ...options });
  onTestFinished(() => simulator.stop());
  return simulator;
}

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

export function grant(credentials: { clientId: string; clientSecret: string; audience: string }) {
  return {
    grant_type: "client_credentials",
    client_id: credentials.clientId,
    client_secret: credentials.clientSecret,
    audience: credentials.audience,
  };
}

export async function obtainToken(simulator: Simulator, credentials = parentCredentials): Promise<string> {
  const { body } = await askForToken(simulator, credentials);
  return (JSON.parse(body) as { access_token: string }).access_token;
}

/** Sends create_order with a bearer token. */
export function orderWithToken(simulator: Simulator, token: string, siteIdentifier = "S1"): Promise<Received> {
  return sendJson(`${simulator.apiUrl}/create_order`, order(siteIdentifier), { authorization: `Bearer ${token}` });
}

/** create_order for site S1, as bytes on the connection. */
export function orderInBytes(token: string): string {
  const body = JSON.stringify(order("S1"));
  const head = [
    "POST /json-api/create_order HTTP/1.1",
    "Host: x",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    `Authorization: Bearer ${token}`,
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

export function askForToken(simulator: Simulator, credentials = parentCredentials): Promise<Received> {
  return sendJson(`${simulator.loginUrl}/oauth/token`, grant(credentials));
}

/** A simulator, and a valid token. */
export async function stageWithToken(options: Partial<SimulatorOptions> = {}) {
  const simulator = await stage(options);
  return { simulator, token: await obtainToken(simulator) };
}

/** A simulator that misbehaves at its API, and a valid token. */
export async function stageFault(fault: FaultAction & Partial<FaultScope>) {
  const staged = await stageWithToken();
  staged.simulator.faults.add({ ...fault, host: "api" });
  return staged;
}
