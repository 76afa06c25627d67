/** The doctor's report on sets whose tokens are requested in another way than the service's own. */
import { describe, expect, it } from "vitest";
import { clientKey } from "../../../testkit/certificates.ts";
import { platformToken, tokenFor } from "../../../testkit/platform-token.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { diagnose, openFolder } from "./doctor-runs.ts";

const granted = { access_token: "canary-token", token_type: "Bearer", expires_in: 3600 };
const post = "clientSecret: { file: DIR/green }";

it("reports an issued token, and checks the token endpoint's host", async () => {
  const login = await startLogin(200, granted);
  const { of } = await diagnoseSet(post, login, ", clientAuth: basic");
  expect(of("token")).toEqual(["ok S1/one: issued, valid for 60 min, not kept (tokens.cache is memory)"]);
  expect(of("tls")[1]).toContain(`127.0.0.1:${login.port}`);
  expect(of("tls")[1]).toContain("environments.sandbox.token.url");
  expect(login.requests.map(({ head }) => head.split("\r\n")[0])).toEqual([
    expect.stringMatching(/^HEAD \//),
    "POST /as/token HTTP/1.1",
  ]);
});

it.each([
  {
    what: "a secret and a scope",
    set: post,
    more: ", clientAuth: basic, scope: a b",
    compare: "client id (one-id), secret (file DIR/green) and scope (a b), and clientAuth (basic)",
  },
  {
    what: "a key",
    set: "privateKey: { file: DIR/key }, audience: c",
    more: ", clientAuth: private_key_jwt",
    compare:
      "client id (one-id), key (file DIR/key), aud (LOGIN/as/token) of the assertion, its typ (JWT) and audience (c), and clientAuth (private_key_jwt)",
    hint: "; a server that accepts its issuer alone as aud needs token.issuer",
  },
  {
    what: "a key, for an issuer",
    set: "privateKey: { file: DIR/key }",
    more: ", clientAuth: private_key_jwt, issuer: 'https://login.example/', assertion: { typ: a+jwt }",
    compare:
      "client id (one-id), key (file DIR/key), aud (https://login.example/) of the assertion and its typ (a+jwt), and clientAuth (private_key_jwt)",
  },
])("says the server's error code, and what to compare with $what", async ({ set, more, compare, hint = "" }) => {
  const login = await startLogin(401, { error: "invalid_client" });
  const { of, path } = await diagnoseSet(set, login, more);
  expect(of("token")).toEqual([
    `fail S1/one: ${login.url} refuses the set (401, invalid_client) | ` +
      `compare ${compare.replaceAll("DIR", path).replaceAll("LOGIN", login.url)} with what the authorization server has; ` +
      `the set may be deleted, or another environment's${hint}`,
  ]);
});

it.each([
  [400, "invalid_scope", ", scope: a b", "compare scope (a b) with what the client may have"],
  [400, "invalid_scope", "", "write token.scope: the authorization server demands one"],
  [400, "invalid_target", ", resource: r", "compare resource (r) with what the client may have"],
  [
    401,
    "unauthorized_client",
    "",
    "see that the client may use the grant client_credentials (Keycloak: service account roles)",
  ],
  [400, "invalid_request", "", "see in the authorization server's log what it misses"],
  [400, "use_dpop_nonce", "", "Countersign makes no DPoP proofs"],
  [400, "unsupported_grant_type", "", "/as/token is the token endpoint, and has the grant client_credentials"],
  [401, undefined, ", body: json", "a server that reads no JSON needs token.body: form"],
  [401, "invalid_client", "", "and clientAuth (post) with what the authorization server has"],
])("to a refusal with %i %s, the settings being%s, proposes: %s", async (status, error, more, fix) => {
  const login = await startLogin(status, error === undefined ? {} : { error });
  const { of } = await diagnoseSet(post, login, more);
  expect(of("token")[0]).toContain(fix);
});

it("proposes HTTP Basic without encoding if the secret has characters that are encoded", async () => {
  const login = await startLogin(401, { error: "invalid_client" });
  const { of } = await diagnoseSet(post.replace("DIR/green", "DIR/slashed"), login, ", clientAuth: basic");
  expect(of("token")[0]).toContain("needs clientAuth: basic_raw");
});

it.each([
  [
    404,
    {},
    /http:\S+\/as\/token is no token endpoint \(404\) \| correct token\.url: it is the whole address of the token endpoint/,
  ],
  [
    200,
    {},
    /not with a token \(200, access_token\) \| see what is at http:\S+\/as\/token: token\.url may lead to something else/,
  ],
] as const)("names token.url when a %i shows that it is wrong", async (status, body, says) => {
  const { of } = await diagnoseSet(post, await startLogin(status, body));
  expect(of("token")).toEqual([expect.stringMatching(says)]);
});

describe("on the assertion in a file it reports", () => {
  const more = ", clientAuth: { assertion: { file: DIR/token } }";
  const renew = "see what renews it: the kubelet (a projected token), spiffe-helper or another agent";
  const issued = "ok S1/one: issued, valid for 60 min, not kept (tokens.cache is memory)";

  it.each([
    ["its remaining lifetime", tokenFor(2_730), "ok", "expires in 45 min (file DIR/token)"],
    [
      "its audience",
      tokenFor(2_730, { aud: "https://login.example" }),
      "ok",
      "expires in 45 min, its aud is https://login.example (file DIR/token)",
    ],
    [
      "its audiences",
      tokenFor(-180, { aud: ["https://login.example", "b\u001b"] }),
      "fail",
      `expired 3 min ago, its aud is https://login.example, b (file DIR/token) | ${renew}`,
    ],
    ["that it has no time of expiry", platformToken({}), "ok", "has no time of expiry (file DIR/token)"],
    ["that it expires soon", tokenFor(40), "warn", `expires in N s (file DIR/token) | ${renew}`],
    ["that it has expired", tokenFor(-180), "fail", `expired 3 min ago (file DIR/token) | ${renew}`],
  ])("%s", async (_, assertion, verdict, says) => {
    const { of, path } = await diagnoseSet("", await startLogin(200, granted), more, assertion);
    const lines = of("token").map((line) => line.replaceAll(path, "DIR").replace(/in \d\d s/, "in N s"));
    expect(lines).toEqual([`${verdict} S1/one, its assertion: ${says}`, issued]);
  });

  it("that there is none, and requests no token", async () => {
    const login = await startLogin(200, granted);
    const { of, path, hasFailed } = await diagnoseSet("", login, more);
    expect(of("token")).toEqual([
      `fail S1/one, its assertion: assertion file ${path}/token: ENOENT | mount the platform's token there; ${renew}`,
      "skipped S1/one: there is no assertion to send",
    ]);
    expect(hasFailed).toBe(true);
    expect(login.requests.filter(({ head }) => head.startsWith("POST"))).toEqual([]);
  });

  it("what to compare if it is refused", async () => {
    const { of, path } = await diagnoseSet("audience: c", await startLogin(401, {}), more, tokenFor(60));
    expect(of("token")[1]).toContain(
      `compare client id (one-id), iss, sub and aud of its assertion (${path}/token) and audience (c), and clientAuth (assertion) with what the authorization server has`,
    );
  });
});

/** Answers HEAD with an empty 404, and token requests with this status and body. */
function startLogin(status: number, body: object) {
  return startRawUpstream({
    answer({ head }, socket) {
      const date = `Date: ${new Date().toUTCString()}\r\n`;
      const isToken = head.startsWith("POST ");
      const none = `HTTP/1.1 404 Not Found\r\n${date}Connection: close\r\n\r\n`;
      socket.end(isToken ? rawAnswer(status, JSON.stringify(body), date) : none);
    },
  });
}

async function diagnoseSet(set: string, login: { readonly url: string }, more = "", assertion?: string) {
  const service = await startLogin(404, {});
  const { folder, write } = await openFolder({
    key: clientKey,
    slashed: "canary/client-secret==",
    ...(assertion && { token: assertion }),
  });
  const sites = `sites: { S1: { credentials: [ { name: one, clientId: one-id, ${set} } ] } }`;
  const sandbox = `baseUrl: "${service.url}", allowPlaintext: true, ${sites}, token: { url: "${login.url}/as/token"${more} }`;
  const { of, hasFailed } = await diagnose(write({ environments: { sandbox } }));
  return { of, hasFailed, path: folder.path };
}
