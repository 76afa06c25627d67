import { describe, expect, it } from "vitest";
import { readTokenAnswer } from "../../src/oauth/token-answer.ts";

const answer = (change: Record<string, unknown>) =>
  JSON.stringify({ access_token: "token_1", token_type: "Bearer", expires_in: 3600, ...change });

describe("a token answer is used", () => {
  it.each([
    { name: "as the spec shows it", body: answer({}), lifetimeMs: 3_600_000 },
    { name: "with digits in a string", body: answer({ expires_in: "3600" }), lifetimeMs: 3_600_000 },
    { name: "without expires_in", body: answer({ expires_in: undefined }), lifetimeMs: 300_000 },
    { name: "with a huge life, cut to seven days", body: answer({ expires_in: 1e12 }), lifetimeMs: 604_800_000 },
    { name: "with a huge life in a string", body: answer({ expires_in: "999999999999" }), lifetimeMs: 604_800_000 },
    { name: "with a fraction, cut", body: answer({ expires_in: 59.9 }), lifetimeMs: 59_000 },
    { name: "with its type in any case", body: answer({ token_type: "bEaReR" }), lifetimeMs: 3_600_000 },
  ])("$name", ({ body, lifetimeMs }) => {
    const grant = readTokenAnswer(body);
    expect(grant?.lifetimeMs).toBe(lifetimeMs);
    expect(grant?.secret.reveal()).toBe("token_1");
  });
});

describe("a token answer is refused", () => {
  it.each([
    { name: "HTML", body: "<html>login</html>" },
    { name: "an empty body", body: "" },
    { name: "an array", body: "[]" },
    { name: "null", body: "null" },
    { name: "no token", body: answer({ access_token: undefined }) },
    { name: "an empty token", body: answer({ access_token: "" }) },
    { name: "a number for a token", body: answer({ access_token: 7 }) },
    { name: "the word undefined", body: answer({ access_token: "undefined" }) },
    { name: "the word null", body: answer({ access_token: "null" }) },
    { name: "CRLF in the token", body: answer({ access_token: "a\r\nX-Evil: 1" }) },
    { name: "a space in the token", body: answer({ access_token: "a b" }) },
    { name: "a token beyond ASCII", body: answer({ access_token: "tökén" }) },
    { name: "a token of 20,000 characters", body: answer({ access_token: "a".repeat(20_000) }) },
    { name: "a life of 0", body: answer({ expires_in: 0 }) },
    { name: "a life of -1", body: answer({ expires_in: -1 }) },
    { name: "a life of null", body: answer({ expires_in: null }) },
    { name: "a life in words", body: answer({ expires_in: "an hour" }) },
    { name: "NaN, which is not JSON", body: '{"access_token":"t","token_type":"Bearer","expires_in":NaN}' },
    { name: "a life beyond numbers", body: '{"access_token":"t","token_type":"Bearer","expires_in":1e999}' },
    { name: "no type", body: answer({ token_type: undefined }) },
    { name: "another type", body: answer({ token_type: "mac" }) },
  ])("$name", ({ body }) => {
    expect(readTokenAnswer(body)).toBeUndefined();
  });
});
