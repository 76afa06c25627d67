import { createHmac } from "node:crypto";

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
