import { expect } from "vitest";
import { call } from "../../../testkit/call.ts";
import { startConfiguredProxy } from "../../../testkit/configured-proxy.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";

/** A secret with characters that a form and HTTP Basic must encode. */
export const secret = "canary client:secret+of/a=server%&ü";
export const clientId = "client:of/a+server";
export const audience = "https://api.example";
export const granted = { access_token: "abc.def", token_type: "Bearer", expires_in: 3600 };
export const post = { name: "one", clientId, clientSecret: { file: "DIR/secret" }, audience };

export const one = (set: object) => ({ S1: { credentials: [set] } });

type Answer = readonly [status: number, body: object];

/** A service that answers each order. */
export async function startService() {
  return startRawUpstream({ answer: rawAnswer(200, "{}") });
}

/** An authorization server that gives these answers in turn, the last one again and again. */
export async function startLogin(...answers: readonly Answer[]) {
  const all = answers.length === 0 ? ([[200, granted]] as const) : answers;
  return startRawUpstream({ answer: all.map(([status, body]) => rawAnswer(status, JSON.stringify(body))) });
}

/**
 * One order through a proxy with these settings, and the token request that it caused.
 * @param answers of the authorization server, each to a request; default: one token
 */
export async function ask(
  token: object | undefined,
  set: object = post,
  files: Readonly<Record<string, string>> = {},
  answers: readonly Answer[] = [[200, granted]],
) {
  const [service, login] = [await startService(), await startLogin(...answers)];
  const where = token === undefined ? { authUrl: login.url } : { token: { url: `${login.url}/as/token`, ...token } };
  const proxy = await startConfiguredProxy({ baseUrl: service.url, sites: one(set), ...where }, { secret, ...files });
  expect((await call(proxy.url)).status).toBe(200);
  expect(service.requests[0]?.head).toContain("\r\nauthorization: Bearer abc.def");
  const [request] = login.requests;
  if (request === undefined) throw new Error("no token was asked for");
  expect(login.requests).toHaveLength(answers.length);
  return { ...proxy, request, login, endpoint: `${login.url}/as/token` };
}
