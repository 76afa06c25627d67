/**
 * Decision 6: a reload does not change how tokens are requested. The objects that it closes later are not in use any
 * more, and it ends no pause, so that reloads cannot flood the authorization server. Changed settings of `token` are in force with
 * the reload, and need a new token only if they make another token.
 */
import { expect, it } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { addressOf } from "../../../testkit/address.ts";
import { call } from "../../../testkit/call.ts";
import { ConfigFolder, sound } from "../../../testkit/config-folder.ts";
import { startConfiguredProxy } from "../../../testkit/configured-proxy.ts";
import { changed } from "../../../testkit/environment.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { openTokensOf } from "../../../testkit/site-tokens.ts";
import { stage } from "../../../testkit/stage.ts";

const changes: readonly (readonly [what: string, change: (config: Config) => Partial<Config>])[] = [
  ["limits.inFlightPerEnvironment", ({ limits }) => ({ limits: { ...limits, inFlightPerEnvironment: 7 } })],
  ["timeouts.request", ({ timeouts }) => ({ timeouts: { ...timeouts, requestMs: 4_000 } })],
  [
    "the origin of baseUrl",
    (config) =>
      changed(config, ({ baseUrl: { origin, path } }) => ({
        baseUrl: addressOf(`${origin.replace("127.0.0.1", "localhost")}${path}`),
      })),
  ],
  ["a trusted authority", (config) => changed(config, ({ tls }) => ({ tls: { ...tls, ca: "another" } }))],
  ["operations", (config) => changed(config, () => ({ operations: new Set(["create_order"]) }))],
];

it.each(changes)("a new token can be had long after a change of %s", async (_, change) => {
  const { clock, config, reload, simulator, url } = await stage({ oneSet: true });
  expect((await call(url)).status).toBe(200);
  await reload(change(config));
  clock.push(60_000);
  simulator.revokeAllTokens();
  expect((await call(url)).status).toBe(200);
  expect(simulator.counts().tokensIssued).toBe(2);
});

it("after a refusal, reloads cause no earlier token request", async () => {
  const { config, recorder, reload, simulator, url } = await stage({ oneSet: true });
  await recorder.nth("token_adopted", 1);
  simulator.deleteCredentials("blue-id");
  simulator.revokeAllTokens();
  expect((await call(url)).status).toBe(401);
  const { tokenRequests } = simulator.counts();
  for (let n = 1; n <= 3; n++) {
    // Other timeouts make another source of tokens.
    await reload({ timeouts: { ...config.timeouts, tokenMs: config.timeouts.tokenMs + n } });
    expect((await call(url)).status).toBe(401);
  }
  expect(simulator.counts().tokenRequests).toBe(tokenRequests);
});

it("after failed token requests, a reload causes no earlier one, unless the way to the server changes", async () => {
  const { config } = await new ConfigFolder().loadSound(sound);
  const { clock, login, tokens, apply } = await openTokensOf(config);
  for (let n = 0; n < 1_000; n++) login.next({ kind: "failed" });
  tokens.warm();
  // The random number is a half: from the tenth failure on the pause is 15 s.
  await clock.advance(60_000);
  const { requests } = login;
  // The tokens are for another service, so all caches are new.
  const elsewhere = apply({
    ...config,
    ...changed(config, ({ baseUrl }) => ({ baseUrl: { ...baseUrl, path: "/other" } })),
  });
  await clock.advance(1);
  expect(login.requests).toBe(requests);
  await elsewhere;
  const otherwise = apply({ ...config, timeouts: { ...config.timeouts, connectMs: 1 } });
  await clock.advance(5_000);
  await otherwise;
  expect(login.requests).toBeGreaterThan(requests);
});

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

it.each([
  ["scope", { path: "/token", scope: "a" }, { path: "/token", scope: "a b" }],
  ["endpoint of the same host", { path: "/realms/a/token" }, { path: "/realms/b/token" }],
])("for another %s there is a new token before the configuration is in force", async (_, before, after) => {
  const { service, login, sent } = await startBoth();
  const asking = ({ path, ...more }: { path: string; scope?: string }) => {
    return { baseUrl: service.url, sites, token: { url: `${login.url}${path}`, ...more } };
  };
  const { url, reload } = await startConfiguredProxy(asking(before), { secret });
  await call(url);
  await reload(asking(after));
  await call(url);
  expect(sent()).toEqual(["canary.1", "canary.2"]);
  const asked = login.requests.map(({ head, body }) => {
    return { path: head.split(" ")[1], scope: new URLSearchParams(body).get("scope") ?? undefined };
  });
  expect(asked).toEqual([before, after]);
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
