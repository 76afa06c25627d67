import { describe, expect, it } from "vitest";
import type { Address, CredentialSet, TokenSettings } from "../../../src/model/environment.ts";
import { Secret } from "../../../src/model/secret.ts";
import { explainNoToken } from "../../../src/oauth/no-token.ts";

const tokenUrl: Address = {
  origin: "https://login.example:8443",
  scheme: "https",
  host: "login.example",
  port: 8443,
  path: "/oauth/token",
};
const set: CredentialSet = {
  label: "S1/blue",
  name: "blue",
  clientId: "blue-id",
  clientSecret: new Secret("hidden-hidden-hidden", "file /run/blue/client-secret"),
  audience: "https://api.example",
};
const elsewhere: TokenSettings = {
  url: tokenUrl,
  clientAuth: { method: "basic" },
  body: "form",
  scope: "orders",
  resource: undefined,
  extra: {},
  lifetimeMs: undefined,
};

function explain(failure: { status?: number; cause?: string }, token?: TokenSettings) {
  const asked = { environment: "sandbox", set: { ...set, token }, tokenUrl };
  const say = (reader: "operator" | "caller") => {
    const { detail, fix } = explainNoToken(failure, asked, reader);
    return `${detail} | ${fix}`;
  };
  return [say("operator"), say("caller")];
}

describe("why there is no token, and what to do, for operators and for callers", () => {
  it.each([
    [
      { cause: "ECONNREFUSED" },
      "https://login.example:8443: connections are refused (ECONNREFUSED) | see that it is up, and that host and port in environments.sandbox.authUrl are right",
      "no connection to the authorization server: connections are refused (ECONNREFUSED) | see that it is up, and that host and port in authUrl are right",
    ],
    [
      { cause: "CONNECT_TIMEOUT" },
      "https://login.example:8443: no connection in time (CONNECT_TIMEOUT) | let this pod reach https://login.example:8443 (NetworkPolicy or firewall: egress to that port)",
      "no connection to the authorization server: no connection in time (CONNECT_TIMEOUT) | let this pod reach the authorization server (NetworkPolicy or firewall: egress to that port)",
    ],
    [
      { cause: "no answer" },
      "https://login.example:8443 does not answer in time (no answer) | see why it does not answer, or what holds its answers back",
      "the authorization server does not answer in time (no answer) | see why it does not answer, or what holds its answers back",
    ],
    [
      { cause: "ECONNRESET" },
      "https://login.example:8443 gives no complete answer (ECONNRESET) | if it lasts, see what stands between here and https://login.example:8443 (proxy, firewall, service mesh)",
      "the authorization server gives no complete answer (ECONNRESET) | if it lasts, see what stands between here and the authorization server (proxy, firewall, service mesh)",
    ],
    [
      { status: 200, cause: "not a JSON object" },
      "https://login.example:8443 answers, but not with a token (200, not a JSON object) | see what is at https://login.example:8443/oauth/token: environments.sandbox.authUrl may lead to something else, such as a web page",
      "the authorization server answers, but not with a token (200, not a JSON object) | see what is at the authorization server: authUrl may lead to something else, such as a web page",
    ],
    [
      { status: 401, cause: "access_denied" },
      "https://login.example:8443 refuses the set (401, access_denied) | compare client id (blue-id), secret (file /run/blue/client-secret) and audience (https://api.example) with what the service has; the set may be deleted, or another environment's",
      "the authorization server refuses the set (401, access_denied) | compare client id, secret and audience with what the service has; the set may be deleted, or another environment's",
    ],
    [
      { status: 429 },
      "https://login.example:8443 gets too many token requests (429) | wait; if it lasts, see what else requests tokens with this client or from this address",
      "the authorization server gets too many token requests (429) | wait; if it lasts, see what else requests tokens with this client or from this address",
    ],
    [
      { status: 503 },
      "https://login.example:8443 is in trouble (503) | wait; if it lasts, that is its owner's to fix",
      "the authorization server is in trouble (503) | wait; if it lasts, that is its owner's to fix",
    ],
    [
      { status: 302 },
      "https://login.example:8443/oauth/token is no token endpoint (302) | correct environments.sandbox.authUrl: token requests go to {authUrl}/oauth/token, no redirect is followed",
      "the authorization server is no token endpoint (302) | correct authUrl: token requests go to {authUrl}/oauth/token, no redirect is followed",
    ],
    [
      { cause: "assertion not signed" },
      "no token was requested (assertion not signed) | see that privateKey is whole",
      "no token was requested (assertion not signed) | see that privateKey is whole",
    ],
  ])("%o", (failure, operator, caller) => {
    expect(explain(failure)).toEqual([operator, caller]);
  });

  it("no caller reads a file, an address or the value of a setting, whatever the server objects to", () => {
    const errors = ["invalid_client", "invalid_scope", "invalid_target", "unsupported_grant_type", "invalid_request"];
    for (const cause of errors) {
      const [operator, caller] = explain({ status: 400, cause }, elsewhere);
      expect(`${operator}${caller}`).not.toContain("hidden");
      expect(caller).not.toMatch(/\/run|login\.example|api\.example|orders|blue-id/);
    }
  });
});
