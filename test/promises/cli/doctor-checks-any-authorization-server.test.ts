/** What the doctor says about sets that ask for tokens in another way than the service's own. */
import { expect, it } from "vitest";
import { clientKey } from "../../../testkit/certificates.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { diagnose } from "./doctor-run.ts";
import { openFolder } from "./doctor-setup.ts";

/** Answers HEAD with nothing, and token requests with this. */
async function startLogin(status: number, body: object) {
  return startRawUpstream({
    answer({ head }, socket) {
      const date = `Date: ${new Date().toUTCString()}\r\n`;
      const isToken = head.startsWith("POST ");
      socket.end(
        isToken
          ? rawAnswer(status, JSON.stringify(body), date)
          : `HTTP/1.1 404 Not Found\r\n${date}Connection: close\r\n\r\n`,
      );
    },
  });
}

const granted = { access_token: "canary-token", token_type: "Bearer", expires_in: 3600 };
const refused = { error: "invalid_scope", error_description: "canary" };
const post = "clientSecret: { file: DIR/green }";

async function diagnoseSet(set: string, login: { readonly url: string }, more = "") {
  const service = await startLogin(404, {});
  const { folder, write } = await openFolder();
  folder.write("key", clientKey);
  const sites = `sites: { S1: { credentials: [ { name: one, clientId: one-id, ${set} } ] } }`;
  const sandbox = `baseUrl: "${service.url}", allowPlaintext: true, ${sites}, token: { url: "${login.url}/as/token"${more} }`;
  const { of } = await diagnose(write({ environments: { sandbox } }));
  return { of, path: folder.path };
}

it("says that a token comes, and looks at the endpoint's host", async () => {
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
    compare: "client id, secret (file DIR/green) and scope (a b)",
  },
  {
    what: "a key",
    set: "privateKey: { file: DIR/key }, audience: c",
    more: ", clientAuth: private_key_jwt",
    compare: "client id, key (file DIR/key), its token.assertion and audience (c)",
  },
])("says the server's error code, and what to compare with $what", async ({ set, more, compare }) => {
  const { of, path } = await diagnoseSet(set, await startLogin(400, refused), more);
  expect(of("token")).toEqual([
    "fail S1/one: refused (400 invalid_scope) for client one-id | " +
      `compare ${compare.replaceAll("DIR", path)} with what the authorization server has; ` +
      "the set may be deleted, or another environment's",
  ]);
});

it.each([
  [404, {}, /answered 404 at http:\S+\/as\/token \| correct token\.url: it is the whole address of the token endpoint/],
  [200, {}, /not with a token \| see what is at http:\S+\/as\/token: token\.url may lead to something else/],
] as const)("names token.url where a %i tells that it is wrong", async (status, body, says) => {
  const { of } = await diagnoseSet(post, await startLogin(status, body));
  expect(of("token")).toEqual([expect.stringMatching(says)]);
});
