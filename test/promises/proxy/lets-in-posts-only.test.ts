/** Proves row 4: CONNECT and TRACE are refused with 0 sent (h2: the framing corpus); an Upgrade on a POST is ignored. */
import { expect, it } from "vitest";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { ask, orderText, RawConnection, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { stageConnected, stageProxy } from "../../../testkit/stage.ts";

it.each(["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])(
  "refuses %s, and says what is allowed",
  async (method) => {
    const { port, simulator } = await stageProxy();
    const answer = await ask(port, { method });
    expectFailure(answer, {
      status: 405,
      code: "method_not_allowed",
      detail: new RegExp(`^${method} is not used by the service; operations are called with POST\\.`),
    });
    expect(simulator.counts().apiRequests).toBe(0);
  },
);

it("refuses HEAD without a body, as HEAD wants it", async () => {
  const { connection } = await stageConnected();
  const text = await connection.write(rawPost({ method: "HEAD", framing: [], body: "" })).ended();
  expect(text).toMatch(/^HTTP\/1\.1 405 [\s\S]*\r\n\r\n$/);
});

it.each([
  ["a header line that is none", "HEAD / HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n"],
  ["a target that is none", "HEAD /a\x7f HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"],
  ["two lengths", "HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\n"],
])("refuses HEAD without a body though it cannot be read: %s", async (_, bytes) => {
  const { port } = await stageProxy();
  const text = await (await RawConnection.open(port)).write(bytes).ended();
  expect(text).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\n\r\n$/);
  // Another method's refusal on its own connection has its body.
  const other = await (await RawConnection.open(port)).write(bytes.replace("HEAD", "POST")).ended();
  expect(other).toMatch(/\r\n\r\n\{.*"malformed_request"/s);
});

it("tells a CONNECT, which comes of an https URL and a proxy setting, to use the base URL", async () => {
  const { port, simulator } = await stageProxy();
  const answer = await ask(port, "CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n");
  expectFailure(answer, {
    status: 405,
    code: "method_not_allowed",
    detail: /^An https:\/\/ URL came through the proxy setting.* Set your base URL to http:\/\/127\.0\.0\.1:\d+\./,
  });
  expect(simulator.counts()).toMatchObject({ apiRequests: 0, apiConnections: 0 });
});

it("ignores and strips an upgrade to h2c, which Java's HttpClient asks for, and serves the POST", async () => {
  const { connection, simulator } = await stageConnected();
  const upgrade = {
    connection: ["Connection: Upgrade, HTTP2-Settings"],
    more: ["Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"],
  };
  // Nothing behind it on this connection is served: it could be another protocol.
  const answers = readAnswers(await connection.write(`${rawPost(upgrade)}${rawPost()}`).ended());
  expect(answers.map(({ status, headers }) => [status, headers["connection"]])).toEqual([[200, "close"]]);
  expect(answers[0]?.headers).not.toHaveProperty("upgrade");
  const [request, ...more] = await simulator.seen.whenApiRequests(1);
  expect(more).toEqual([]);
  const names = request?.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  expect(names).not.toContain("upgrade");
  expect(names).not.toContain("http2-settings");
  expect(request?.body.toString()).toContain(orderText.slice(1, -1));
});
