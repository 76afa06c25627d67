/** Rows 54, 72: changed settings of `token` are in force with the reload, and cost a token only where they make it another one. */
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { startConfiguredProxy } from "../../../testkit/configured-proxy.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";

const set = { name: "one", clientId: "one-id", clientSecret: { file: "DIR/secret" } };
const sites = { S1: { credentials: [set] } };
const secret = "canary-client-secret";

/** A service that answers 401 while a token is revoked, and an authorization server that numbers its tokens. */
async function startBoth() {
  const revoked = new Set<string>();
  const service = await startRawUpstream({
    answer({ head }, socket) {
      const isRevoked = [...revoked].some((token) => head.includes(token));
      socket.write(rawAnswer(isRevoked ? 401 : 200, "{}"));
    },
  });
  const login = await startRawUpstream({
    answer({ number }, socket) {
      const body = { access_token: `canary.${number}`, token_type: "Bearer", expires_in: 3600 };
      socket.write(rawAnswer(200, JSON.stringify(body)));
    },
  });
  const sent = () => service.requests.map(({ head }) => /Bearer (\S+)/.exec(head)?.[1]);
  return { service, login, revoked, sent };
}

it("a new scope gets its own token before the configuration is in force", async () => {
  const { service, login, sent } = await startBoth();
  const asking = (scope: string) => ({ baseUrl: service.url, sites, token: { url: `${login.url}/token`, scope } });
  const { url, reload } = await startConfiguredProxy(asking("a"), { secret });
  await call(url);
  await reload(asking("a b"));
  await call(url);
  expect(sent()).toEqual(["canary.1", "canary.2"]);
  expect(login.requests.map(({ body }) => new URLSearchParams(body).get("scope"))).toEqual(["a", "a b"]);
});

it("another `body` keeps the token, and the next token request uses it", async () => {
  const { service, login, revoked, sent } = await startBoth();
  const asking = (body: string) => ({ baseUrl: service.url, sites, token: { url: `${login.url}/token`, body } });
  const { url, reload } = await startConfiguredProxy(asking("form"), { secret });
  await call(url);
  await reload(asking("json"));
  await call(url);
  expect(sent()).toEqual(["canary.1", "canary.1"]);
  revoked.add("canary.1");
  expect((await call(url)).status).toBe(200);
  expect(login.requests).toHaveLength(2);
  expect(JSON.parse(login.requests[1]?.body ?? "")).toMatchObject({ client_id: "one-id" });
});

it("another endpoint of the same host is asked for a new token", async () => {
  const { service, login, sent } = await startBoth();
  const asking = (path: string) => ({ baseUrl: service.url, sites, token: { url: `${login.url}${path}` } });
  const { url, reload } = await startConfiguredProxy(asking("/realms/a/token"), { secret });
  await call(url);
  await reload(asking("/realms/b/token"));
  await call(url);
  expect(sent()).toEqual(["canary.1", "canary.2"]);
  expect(login.requests.map(({ head }) => head.split(" ")[1])).toEqual(["/realms/a/token", "/realms/b/token"]);
});
