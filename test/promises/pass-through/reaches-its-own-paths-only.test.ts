/** No spelling of a path reaches a path outside the route, and no request can widen its caller's rights. */
import { expect, it } from "vitest";
import { ask } from "../../../testkit/raw-caller.ts";
import { rawAnswer } from "../../../testkit/raw-upstream.ts";
import { files, type RouteOptions } from "../../../testkit/stage/pass-through.ts";
import { childSite, hmacSite, oauthSite, stage } from "../../../testkit/stage.ts";

const stageEcho = (options: RouteOptions = {}) => stage("route", rawAnswer(200), options);

it.each([
  "/files/../admin",
  "/files/./a",
  "/files/a/..",
  "/files/%2e%2E/admin",
  "/files/.%2e/admin",
  "/files/..;x=1/admin",
  "/files/a%2fb",
  "/files/..%5cadmin",
  "/files/..\\admin",
  "/files//private/a",
  "/files/a//b",
  "/files/a%zz",
  "/files/a|b",
  "/files/a#b",
  "/files/a?b#c",
  "/files/a%00b",
  "/files/a%0d%0ab",
  "/files/a%1fb",
  "/files/a%7Fb",
  "/files/a%2500b",
  "/files/%252e%252E/admin",
  "/files/.%252e/admin",
  "/files/a%252fb",
  "/files/..%255Cadmin",
  "/files/%25252e%25252e/admin",
  "/files/%25%32%65%25%32%65/admin",
  "/files/%2525252525252e./admin",
  "/files/%2525252541",
  "/files/..%00/admin",
  "/files/..%20/admin",
  "/files/%20../admin",
  "/files/..%09/admin",
  "/files/..%c2%a0/admin",
  "/files/..%3bx/admin",
  "/files/..%3fx/admin",
  "/files/..%23/admin",
  "/files/.%20./admin",
  "/files/%c0%ae%c0%ae/admin",
  "/files/%e0%80%af",
  "/files/%f0%80%80%af",
  "/files/%25c0%25ae",
  "/files/%ff",
  "/files/%c3",
  "/files/%c3/%a9",
  "/files/%ed%a0%80",
  "/files/%f4%90%80%80",
])("a path that can be read in two ways is refused %s", async (target) => {
  const { upstream, send } = await stageEcho();
  const answer = await send(`GET ${target}`);
  expect(answer).toMatchObject({ status: 400, headers: { "countersign-error": "target_not_allowed" } });
  expect(answer.headers["countersign-outcome"]).toBe("not_sent");
  expect(upstream.spoken).toBe(0);
});

it.each([
  ["/files/", "/json-api/files/"],
  ["/files/a/...b/c.;d", "/json-api/files/a/...b/c.;d"],
  ["/files/%C3%A9?a=//x/../y&b=%2f", "/json-api/files/%C3%A9?a=//x/../y&b=%2f"],
  ["/files/100%25%20of%20..a/..%20b/%2e%2e%2e", "/json-api/files/100%25%20of%20..a/..%20b/%2e%2e%2e"],
  ["/files/%25252541", "/json-api/files/%25252541"],
  ["/files/a%2541%252525b?%00%252e%c0", "/json-api/files/a%2541%252525b?%00%252e%c0"],
])("sends the path %s unchanged", async (target, path) => {
  const { upstream, send } = await stageEcho();
  expect((await send(`GET ${target}`)).status).toBe(200);
  expect(upstream.requests[0]?.head).toMatch(
    new RegExp(`^GET ${path.replace(/[?.*+^$(){}|\\[\]]/g, "\\$&")} HTTP/1.1\r\n`),
  );
});

it("accepts the URL of a client that uses HTTP_PROXY, but no URL of another host", async () => {
  const { upstream, send } = await stageEcho();
  const own = `${upstream.url}/json-api/files/a?b`;
  expect((await send(`GET ${own}`)).status).toBe(200);
  expect(upstream.requests[0]?.head).toMatch(/^GET \/json-api\/files\/a\?b HTTP/);
  const foreign = await send("GET http://other.example/json-api/files/a");
  expect(foreign).toMatchObject({ status: 403, headers: { "countersign-error": "target_not_allowed" } });
  expect(upstream.requests).toHaveLength(1);
});

it("leads to another path of the same host if upstreamPrefix is set", async () => {
  const { upstream, send } = await stageEcho({ route: { upstreamPrefix: "/v2/store/" } });
  await send("GET /files/a");
  expect(upstream.requests[0]?.head).toMatch(/^GET \/v2\/store\/a HTTP/);
});

it("serves by the longest prefix", async () => {
  const inner = { ...files, prefix: "/files/public/", methods: new Set(["GET"]) };
  const { upstream, send } = await stageEcho({ environment: { passThrough: [inner, files] } });
  expect((await send("DELETE /files/public/a")).status).toBe(405);
  expect((await send("DELETE /files/a")).status).toBe(200);
  expect(upstream.requests).toHaveLength(1);
});

it("refuses a method that is not named, and sends nothing", async () => {
  const { upstream, send } = await stageEcho({ route: { methods: new Set(["GET", "PUT"]) } });
  const answer = await send("DELETE /files/a");
  expect(answer).toMatchObject({ status: 405, headers: { allow: "GET, PUT", "countersign-outcome": "not_sent" } });
  expect(upstream.spoken).toBe(0);
});

it("refuses a Host that is not the listener's", async () => {
  const { upstream, port } = await stageEcho();
  const answer = await ask(port, "GET /files/a HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
  expect(answer).toMatchObject({ status: 403, headers: { "countersign-error": "target_not_allowed" } });
  expect(upstream.spoken).toBe(0);
});

it("uses the site that the request names, else the route's, else the default", async () => {
  const { recorder, send } = await stageEcho({ route: { site: childSite } });
  await send("GET /files/a");
  await send("GET /files/a", [`Countersign-Site: ${oauthSite}`]);
  expect(recorder.of("request_finished").map(({ site }) => site)).toEqual([childSite, oauthSite]);
});

it.each([
  [[`Countersign-Site: ${hmacSite}`], 403, "auth_not_configured"],
  [["Countersign-Auth: hmac"], 403, "auth_not_configured"],
  [["Countersign-Site: S9"], 403, "site_not_configured"],
  [["Countersign-Sitte: S9"], 400, "malformed_request"],
  [["Expect: 200-ok"], 417, "expectation_not_supported"],
])("refuses %s", async (headers, status, code) => {
  const { upstream, send } = await stageEcho();
  const answer = await send("GET /files/a", headers);
  expect(answer).toMatchObject({ status, headers: { "countersign-error": code, "countersign-outcome": "not_sent" } });
  expect(upstream.spoken).toBe(0);
});

it("leaves every other path to the operations", async () => {
  const { upstream, port, send } = await stageEcho();
  const refused = await send("GET /file/a");
  expect(refused).toMatchObject({ status: 405, headers: { allow: "POST" } });
  expect(refused.text).toContain("Operations are called with POST, not with GET. Paths below /files/ take GET.");
  expect((await ask(port, {})).status).toBe(200);
  expect(upstream.requests[0]?.head).toMatch(/^POST \/json-api\/create_order HTTP/);
});
