/** Spec 4.2: what a token request holds, where it goes, and what it does not carry. */
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { audience, canaries, stageProxy } from "../../../testkit/stage.ts";

const granted = rawAnswer(200, '{"access_token":"abc.def","token_type":"Bearer","expires_in":3600}');

it("posts four form fields to {authUrl}/oauth/token, and nothing else of value", async () => {
  const service = await startRawUpstream({ answer: rawAnswer(200, "{}") });
  const login = await startRawUpstream({ answer: granted });
  const { url } = await stageProxy({ baseUrl: service.url, authUrl: `${login.url}/tenant`, oneSet: true });
  await login.whenRequests(1);
  await call(url, undefined, {
    headers: { Authorization: "Bearer callers-own", Cookie: "a=b", "X-Request-Id": "r-1" },
  });
  expect(login.requests).toHaveLength(1);
  const [{ head, body } = { head: "", body: "" }] = login.requests;
  const [requestLine, ...lines] = head.split("\r\n");
  expect(requestLine).toBe("POST /tenant/oauth/token HTTP/1.1");
  const headers = Object.fromEntries(lines.map((line) => line.split(": ", 2))) as Record<string, string>;
  expect(headers).toEqual({
    host: `127.0.0.1:${login.port}`,
    connection: "close",
    accept: "application/json",
    "content-type": "application/x-www-form-urlencoded",
    "content-length": String(body.length),
  });
  expect([...new URLSearchParams(body)]).toEqual([
    ["grant_type", "client_credentials"],
    ["client_id", "blue-id"],
    ["client_secret", canaries.blue],
    ["audience", audience],
  ]);
});

it("never asks the JSON API's host for a token, nor tells the authorization server of an order", async () => {
  const service = await startRawUpstream({ answer: rawAnswer(200, "{}") });
  const login = await startRawUpstream({ answer: granted });
  const { url } = await stageProxy({ baseUrl: `${service.url}/json-api`, authUrl: login.url, oneSet: true });
  for (let n = 0; n < 5; n++) expect((await call(url)).status).toBe(200);
  expect(service.requests.map(({ head }) => head.split("\r\n")[0])).toEqual(
    Array(5).fill("POST /json-api/create_order HTTP/1.1"),
  );
  expect(service.requests.every(({ head }) => head.includes("\r\nauthorization: Bearer abc.def\r\n"))).toBe(true);
  expect(login.requests.map(({ head }) => head.split("\r\n")[0])).toEqual(["POST /oauth/token HTTP/1.1"]);
  const told = service.requests.map(({ head, body }) => head + body).join("\n");
  expect(told).not.toContain(canaries.blue);
});
