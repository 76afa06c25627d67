/** A token that the platform renews in a file proves the client, and is neither kept nor shown. */
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import type { WrittenEnvironment } from "../../../testkit/config-writer.ts";
import { startConfiguredProxy } from "../../../testkit/configured-proxy.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { platformToken, tokenFor } from "../../../testkit/platform-token.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { audience, clientId, granted, one, startLogin, startService } from "./token-endpoint.ts";

const set = { name: "one", clientId, audience };
const gauge = "countersign_assertion_expiry_timestamp_seconds";

const sentIn = ({ body }: { body: string }) => new URLSearchParams(body).get("client_assertion");

describe("a token request", () => {
  it("has the file's token and the client id, and no other proof", async () => {
    const login = await startLogin();
    const { write, proxy, service } = await stage(login);
    const token = tokenFor(3_600);
    write(`${token}\n`);
    const { url, recorder } = await proxy();
    expect((await call(url)).status).toBe(200);
    expect(service.requests[0]?.head).toContain("\r\nauthorization: Bearer abc.def");
    expect(Object.fromEntries(new URLSearchParams(login.requests[0]?.body))).toEqual({
      grant_type: "client_credentials",
      client_id: clientId,
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: token,
      audience,
    });
    expect(login.requests[0]?.head).not.toMatch(/authorization/i);
    const { assertionRemainingMs } = await recorder.nth("token_requested", 1);
    expect(assertionRemainingMs).toBeGreaterThan(3_500_000);
    expect(assertionRemainingMs).toBeLessThanOrEqual(3_600_000);
  });

  it("has the type of a JWT-SVID if the settings say so", async () => {
    const login = await startLogin();
    const { file, write, proxy } = await stage(login);
    write(tokenFor(300));
    const clientAuth = { assertion: { file, type: "jwt-spiffe" } };
    const { url } = await proxy({ token: { url: `${login.url}/token`, clientAuth } });
    expect((await call(url)).status).toBe(200);
    const type = new URLSearchParams(login.requests[0]?.body).get("client_assertion_type");
    expect(type).toBe("urn:ietf:params:oauth:client-assertion-type:jwt-spiffe");
  });

  it("has the token that is in the file at that moment", async () => {
    const tokens = [tokenFor(60, { n: 1 }), tokenFor(60, { n: 2 }), tokenFor(60, { n: 3 })] as const;
    const login = await startRawUpstream({
      answer({ number }, socket) {
        write(tokens[number] ?? "");
        socket.write(rawAnswer(number === 3 ? 200 : 500, JSON.stringify(granted)));
      },
    });
    const { write, proxy } = await stage(login);
    write(tokens[0]);
    const { url } = await proxy();
    expect((await call(url)).status).toBe(200);
    expect(login.requests.map(sentIn)).toEqual(tokens);
  });

  it("has a token that has expired, since the server's clock decides, and the log says so", async () => {
    const login = await startLogin([401, { error: "invalid_client" }]);
    const { write, proxy } = await stage(login);
    write(tokenFor(-120));
    const { url, recorder } = await proxy();
    const { status, json } = await call(url);
    expect([status, json.code]).toEqual([502, "credentials_refused"]);
    expect(json.detail).toContain("the set may be deleted, or another environment's.");
    const { assertionRemainingMs, cause } = await recorder.nth("token_requested", 1);
    expect(cause).toBe("invalid_client");
    expect(assertionRemainingMs).toBeLessThan(-119_000);
    expect(assertionRemainingMs).toBeGreaterThan(-180_000);
  });
});

const canary = "canary-of-the-platform";
const unsigned = `${tokenFor(60).split(".").slice(0, 2).join(".")}.`;
const withoutClaims = `e30.${Buffer.from(`"${canary}"`).toString("base64url")}.c2ln`;

describe("without a token to send", () => {
  it.each([
    { what: "no file", content: undefined, cause: "ENOENT" },
    { what: "an empty file", content: "\n", cause: "empty" },
    { what: "a file with other text", content: canary, cause: "no signed JWT" },
    { what: "a JWT without a signature", content: unsigned, cause: "no signed JWT" },
    { what: "a JWT without claims", content: withoutClaims, cause: "no signed JWT" },
    { what: "a token of 100 kB", content: tokenFor(60, { canary: "x".repeat(100_000) }), cause: "no signed JWT" },
  ])("no server is asked, and orders are served once the file has a token: $what", async ({ content, cause }) => {
    const login = await startLogin();
    const { file, write, proxy, service } = await stage(login);
    if (content !== undefined) write(content);
    const { url, recorder, adminUrl } = await proxy();
    const { status, json, text } = await call(url);
    expect([status, json.code, json.outcome]).toEqual([503, "token_unavailable", "not_sent"]);
    const why = `assertion file ${file}: ${cause}`;
    expect(json.detail).toContain(
      `No token for credential "one" (client ${clientId}, site S1): no token was requested (${why}); see what renews its file`,
    );
    expect(await recorder.nth("token_requested", 1)).toMatchObject({ result: "failed", status: undefined, cause: why });
    expect([login.requests.length, service.requests.length]).toEqual([0, 0]);
    expect((await scrape(adminUrl)).value(gauge, { environment: "sandbox", credential: "S1/one" })).toBe(0);
    const everything = `${text}${JSON.stringify(recorder.events)}`;
    if (content !== undefined && content.length > 1) expect(everything).not.toContain(content.slice(0, 20));
    write(tokenFor(60));
    await expect.poll(async () => (await call(url)).status, { timeout: 5_000 }).toBe(200);
  });
});

it("a renewal changes the gauge, needs no token request, and does not make another client", async () => {
  const login = await startLogin();
  const { file, write, proxy, service } = await stage(login);
  write(platformToken({ exp: 2_000_000_000 }));
  const { reload, url, adminUrl, recorder } = await proxy();
  const shown = async () => (await scrape(adminUrl)).value(gauge, { environment: "sandbox", credential: "S1/one" });
  expect((await call(url)).status).toBe(200);
  expect(await shown()).toBe(2_000_000_000);
  write(platformToken({ exp: 2_000_003_600 }));
  expect(await shown()).toBe(2_000_003_600);
  const token = { url: `${login.url}/token`, clientAuth: { assertion: { file } } };
  await reload({ baseUrl: service.url, token, sites: one(set), via: false });
  expect((await call(url)).status).toBe(200);
  expect(login.requests).toHaveLength(1);
  expect(recorder.of("token_requested")).toHaveLength(1);
  write(platformToken({}));
  const { families } = await scrape(adminUrl);
  expect(families.get(gauge)?.samples ?? []).toEqual([]);
});

it("the second set takes over with its own file while the first one's token is refused", async () => {
  const folder = emptyFolder();
  const tokens = [tokenFor(60, { n: 1 }), tokenFor(60, { n: 2 })] as const;
  for (const [index, text] of tokens.entries()) writeFileSync(`${folder}/${index}`, text);
  const sets = tokens.map((_, index) => {
    const clientAuth = { assertion: { file: `${folder}/${index}` } };
    return { name: `set-${index}`, clientId: `client-${index}`, token: { clientAuth } };
  });
  const login = await startLogin([401, { error: "invalid_client" }], [200, granted]);
  const { proxy } = await stage(login, { sites: { S1: { credentials: sets } }, token: { url: `${login.url}/token` } });
  const { url, recorder } = await proxy();
  expect((await call(url)).status).toBe(200);
  expect(login.requests.map(sentIn)).toEqual(tokens);
  expect(recorder.of("credential_switched")).toMatchObject([{ from: "S1/set-0", to: "S1/set-1" }]);
});

/** A proxy whose client is proved by a token in a file that the test writes, and its authorization server. */
async function stage(login: Awaited<ReturnType<typeof startLogin>>, change: Partial<WrittenEnvironment> = {}) {
  const file = `${emptyFolder()}/token`;
  const service = await startService();
  const token = { url: `${login.url}/token`, clientAuth: { assertion: { file } } };
  const proxy = (more: Partial<WrittenEnvironment> = {}) =>
    startConfiguredProxy({ baseUrl: service.url, token, sites: one(set), ...change, ...more }, {});
  return { file, service, write: (text: string) => writeFileSync(file, text), proxy };
}
