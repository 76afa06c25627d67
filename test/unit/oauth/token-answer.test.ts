import { expect, it } from "vitest";
import { readToken } from "../../../src/oauth/token-endpoint.ts";

const answer = (change: Record<string, unknown>) =>
  JSON.stringify({ access_token: "token_1", token_type: "Bearer", expires_in: 3600, ...change });

it.each([
  { name: "as the spec shows it", body: answer({}), lifetimeMs: 3_600_000 },
  { name: "with digits in a string", body: answer({ expires_in: "3600" }), lifetimeMs: 3_600_000 },
  { name: "without expires_in", body: answer({ expires_in: undefined }), lifetimeMs: 300_000 },
  { name: "with a huge life, cut to seven days", body: answer({ expires_in: 1e12 }), lifetimeMs: 604_800_000 },
  { name: "with a huge life in a string", body: answer({ expires_in: "999999999999" }), lifetimeMs: 604_800_000 },
  { name: "with a fraction, cut", body: answer({ expires_in: 59.9 }), lifetimeMs: 59_000 },
  { name: "with its type in any case", body: answer({ token_type: "bEaReR" }), lifetimeMs: 3_600_000 },
])("a token response is used $name", ({ body, lifetimeMs }) => {
  const grant = readToken(body);
  if (typeof grant === "string") throw new Error(`malformed: ${grant}`);
  expect(grant.lifetimeMs).toBe(lifetimeMs);
  expect(grant.secret.reveal()).toBe("token_1");
});

it.each([
  { name: "HTML", body: "<html>login</html>", fault: "not a JSON object" },
  { name: "an empty body", body: "", fault: "not a JSON object" },
  { name: "an array", body: "[]", fault: "not a JSON object" },
  { name: "null", body: "null", fault: "not a JSON object" },
  { name: "no token", body: answer({ access_token: undefined }), fault: "access_token" },
  { name: "an empty token", body: answer({ access_token: "" }), fault: "access_token" },
  { name: "a number for a token", body: answer({ access_token: 7 }), fault: "access_token" },
  { name: "the word undefined", body: answer({ access_token: "undefined" }), fault: "access_token" },
  { name: "the word null", body: answer({ access_token: "null" }), fault: "access_token" },
  { name: "CRLF in the token", body: answer({ access_token: "a\r\nX-Evil: 1" }), fault: "access_token" },
  { name: "a space in the token", body: answer({ access_token: "a b" }), fault: "access_token" },
  { name: "a token beyond ASCII", body: answer({ access_token: "tökén" }), fault: "access_token" },
  { name: "a token of 20,000 characters", body: answer({ access_token: "a".repeat(20_000) }), fault: "access_token" },
  { name: "a life of 0", body: answer({ expires_in: 0 }), fault: "expires_in" },
  { name: "a life of -1", body: answer({ expires_in: -1 }), fault: "expires_in" },
  { name: "a life of null", body: answer({ expires_in: null }), fault: "expires_in" },
  { name: "a life in words", body: answer({ expires_in: "an hour" }), fault: "expires_in" },
  {
    name: "NaN, which is not JSON",
    body: '{"access_token":"t","token_type":"Bearer","expires_in":NaN}',
    fault: "not a JSON object",
  },
  {
    name: "a life beyond numbers",
    body: '{"access_token":"t","token_type":"Bearer","expires_in":1e999}',
    fault: "expires_in",
  },
  { name: "no type", body: answer({ token_type: undefined }), fault: "token_type" },
  { name: "another type", body: answer({ token_type: "mac" }), fault: "token_type" },
])("a token response is malformed ($fault): $name", ({ body, fault }) => {
  expect(readToken(body)).toBe(fault);
});
