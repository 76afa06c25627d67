/** Without the listener's token a caller gets 407 first, its body is not read, and it does not count as in flight. */
import { describe, expect, it } from "vitest";
import { headline } from "../../../src/adapters/log/lines.ts";
import { call, order } from "../../../testkit/call.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { ask, RawConnection, type RawPost, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { older, stageWithTokens, token } from "./callers.ts";

const right = `Proxy-Authorization: Bearer ${token}`;
const basic = (text: string) => `Proxy-Authorization: Basic ${Buffer.from(text).toString("base64")}`;
const challenges = ['Bearer realm="countersign"', 'Basic realm="countersign", charset="UTF-8"'];

describe("a caller is served", () => {
  it.each([
    ["with the token", right],
    ["with the token that it replaces", `Proxy-Authorization: Bearer ${older}`],
    ["with the token as a password, as from a proxy's URL", basic(`app:${token}`)],
    ["with a password and no user", basic(`:${older}`)],
  ])("%s, which is not passed on", async (_, line) => {
    const { port, simulator } = await stageWithTokens();
    const answer = await ask(port, { more: [line, "Countersign-Reference: A-1"] });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.headers).not.toHaveProperty("proxy-authenticate");
    const [request] = await simulator.seen.whenApiRequests(1);
    const names = request?.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    expect(names).not.toContain("proxy-authorization");
    const sent = `${request?.rawHeaders.join("\n")}\n${request?.body}`;
    for (const text of [token, older, line.split(" ").at(-1) ?? ""]) expect(sent).not.toContain(text);
  });

  it("with the token in a header that Connection names as hop-by-hop", async () => {
    const { port } = await stageWithTokens();
    const connection = ["Connection: close, Proxy-Authorization"];
    expect((await ask(port, { connection, more: [right] })).status).toBe(200);
  });
});

describe("a caller is answered 407, and nothing is sent", () => {
  it.each<[string, RawPost]>([
    ["without a token", {}],
    ["with an unknown token", { more: ["Proxy-Authorization: Bearer canary-caller-token-n0w"] }],
    ["with the token in capitals", { more: [`Proxy-Authorization: Bearer ${token.toUpperCase()}`] }],
    ["with the token twice", { more: [right, right] }],
    ["before its method is looked at", { method: "GET", framing: [], body: "" }],
    ["before a method of another protocol is looked at", { method: "PUT" }],
    ["before its target is looked at", { target: "http://evil.example/" }],
    ["before its Host is looked at", { host: ["Host: evil.example"] }],
    ["before its operation is looked at", { target: "/delete_all" }],
    ["before its Content-Type is looked at", { type: [] }],
    ["before its body is looked at", { body: "{" }],
  ])("%s", async (_, given) => {
    const { port, simulator, recorder, adminUrl } = await stageWithTokens();
    const connection = await RawConnection.open(port);
    const text = await connection.write(rawPost(given)).ended();
    const [answer, ...more] = readAnswers(text);
    if (answer === undefined || more.length > 0) throw new Error(`not one answer: ${text}`);
    const detail = /give it as Proxy-Authorization: Bearer <token>, or in the proxy's URL as http:\/\/caller:<token>@/;
    const requestId = expectFailure(answer, { status: 407, code: "caller_not_authenticated", detail });
    const lines = text.split("\r\n").filter((line) => line.startsWith("Proxy-Authenticate: "));
    expect(lines).toEqual(challenges.map((challenge) => `Proxy-Authenticate: ${challenge}`));
    const end = await recorder.nth("request_finished", 1);
    const nothing = { site: undefined, operation: undefined, operationLabel: "none", attempts: 0 };
    expect(end).toMatchObject({ ...nothing, requestId, stage: "check_caller", status: 407, by: "countersign" });
    expect(headline(end)[0]).toBe("warn");
    expect(simulator.counts().apiRequests).toBe(0);
    const metrics = (await call(adminUrl, "", { method: "GET", path: "/metrics" })).text;
    expect(metrics).toMatch(/^countersign_failures_total\{.*site="none".*code="caller_not_authenticated".*\} 1$/m);
  });

  it("when it asks for a tunnel, before it is told that there are no tunnels", async () => {
    const { port, simulator } = await stageWithTokens();
    const tunnel = "CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n";
    expectFailure(await ask(port, `${tunnel}\r\n`), { status: 407, code: "caller_not_authenticated" });
    expectFailure(await ask(port, `${tunnel}${right}\r\n\r\n`), { status: 405, code: "method_not_allowed" });
    expect(simulator.counts()).toMatchObject({ apiRequests: 0, apiConnections: 0 });
  });
});

it("a refused caller gets no 100 Continue, and its body is not read", async () => {
  const { port } = await stageWithTokens();
  const connection = await RawConnection.open(port);
  const framing = ["Content-Length: 200000", "Expect: 100-continue"];
  const text = await connection.write(rawPost({ framing, connection: [], body: "" })).until(/\r\n\r\n.*\}\n$/s);
  expect(readAnswers(text)).toMatchObject([{ status: 407, headers: { connection: "close" } }]);
  await connection.leave();
});

it("a refused caller takes no permit: others are served by the last free permit", async () => {
  const { url, simulator } = await stageWithTokens({ limits: { inFlightPerEnvironment: 1 } });
  const refused = async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => call(url)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([407]));
  };
  const headers = { "Proxy-Authorization": `Bearer ${token}` };
  const [answer] = await Promise.all([call(url, order, { headers }), refused()]);
  expect(answer.status).toBe(200);
  // A permit is taken once the body has come, so the service must not answer.
  const hanging = simulator.faults.add({ host: "api", kind: "hang" });
  const holding = call(url, order, { headers });
  await hanging.whenPlayed(1);
  await refused();
  expect((await call(url, order, { headers })).status).toBe(503);
  expect((await holding).status).toBe(504);
});

it("a refused caller keeps its connection if it announced no body", async () => {
  const { port } = await stageWithTokens();
  const connection = await RawConnection.open(port);
  connection.write(rawPost({ connection: [], more: [right] }));
  await connection.until(/ 200 OK.*\}$/s);
  connection.write(rawPost({ connection: [], method: "GET", framing: [], body: "" }));
  await connection.until(/ 407 .*\}\n$/s);
  const answers = readAnswers(await connection.write(rawPost({ more: [right] })).ended());
  expect(answers.map(({ status }) => status)).toEqual([200, 407, 200]);
});
