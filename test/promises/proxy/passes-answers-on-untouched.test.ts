/** Row 47: any answer of the service reaches the caller byte for byte; a redirect too, which is never followed. */
import { describe, expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { orderRaw } from "../../../testkit/raw-caller.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, stageProxy } from "../../../testkit/stage.ts";

const signed = { "Countersign-Site": hmacSite };

async function answerWith(bytes: string) {
  const upstream = await startRawUpstream({ answer: bytes });
  const stage = await stageProxy({ baseUrl: upstream.url });
  const answer = await orderRaw(stage.port, signed);
  expect(upstream.requests).toHaveLength(1);
  const [end] = stage.recorder.of("request_finished");
  expect(end).toMatchObject({
    status: answer.status,
    by: "service",
    outcome: outcomeOf(answer.status),
    code: undefined,
    attempts: 1,
  });
  return answer;
}

/** A 5xx passes like any answer, and says nothing of the effect. */
function outcomeOf(status: number): string {
  return status >= 500 ? "unknown" : "answered";
}

/** Neither JSON nor even text. */
const everyByte = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).join("");

describe("status and body", () => {
  it.each([200, 201, 202, 206, 299, 400, 403, 404, 405, 409, 415, 422, 429, 431, 500, 502, 503, 504, 599])(
    "of a %i with its length announced",
    async (status) => {
      const answer = await answerWith(rawAnswer(status, everyByte));
      expect(answer).toMatchObject({ status, body: everyByte, isComplete: true });
      expect(answer.value("content-length")).toBe("256");
      expect(answer.value("countersign-outcome")).toBe(outcomeOf(status));
      expect(answer.value("countersign-error")).toBeUndefined();
    },
  );

  it("of an answer in chunks", async () => {
    const chunks = ["first ", everyByte, " last"].map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join("");
    const answer = await answerWith(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
    expect(answer).toMatchObject({ status: 200, body: `first ${everyByte} last`, isComplete: true });
  });

  it.each([
    [204, ""],
    [204, "X-Left: nothing\r\n"],
    [304, 'ETag: "1"\r\n'],
    [304, 'ETag: "1"\r\nContent-LENGTH: 1234\r\n'],
    [204, "Content-Length: 5\r\n"],
    [204, "content-length: 0\r\nX-Left: nothing\r\n"],
  ])("of a %i, which has no body (%j)", async (status, headers) => {
    const answer = await answerWith(`HTTP/1.1 ${status} Whatever\r\n${headers}\r\n`);
    expect(answer).toMatchObject({ status, body: "", isComplete: true });
    for (const line of headers.split("\r\n").filter(Boolean)) expect(answer.lines).toContain(line);
  });

  it("of an empty 200", async () => {
    expect(await answerWith(rawAnswer(200))).toMatchObject({ status: 200, body: "", isComplete: true });
  });

  it("of a large answer", async () => {
    const body = everyByte.repeat(20_000);
    const answer = await answerWith(rawAnswer(200, body));
    expect(answer.isComplete).toBe(true);
    expect(answer.body === body).toBe(true);
  });
});

describe("headers", () => {
  const own = [
    "X-ODD-casing: Kept As It Is",
    "Set-Cookie: a=1; Path=/",
    "Vary: Accept",
    "Set-Cookie: b=2; Path=/",
    "x-empty:",
    "X-Latin: Z\xfcrich",
    "Content-Type: application/json; charset=UTF-8",
    "Date: Tue, 02 Jan 2024 03:04:05 GMT",
    "Retry-After: 7",
    "WWW-Authenticate: Basic realm=x",
    "Content-Encoding: gzip",
    "Server: something",
  ];

  it("come in the service's casing, order and number", async () => {
    const answer = await answerWith(rawAnswer(200, "{}", own.map((line) => `${line}\r\n`).join("")));
    const passed = answer.lines.filter((line) => !/^(countersign-|content-length|connection)/i.test(line));
    expect(passed).toEqual(own.map((line) => (line === "x-empty:" ? "x-empty: " : line)));
    expect(answer.values("set-cookie")).toEqual(["a=1; Path=/", "b=2; Path=/"]);
  });

  it("get no Date where the service sent none", async () => {
    expect((await answerWith(rawAnswer(200, "{}"))).value("date")).toBeUndefined();
  });

  it("lose what was meant for one connection, and what could pass for ours", async () => {
    const hops =
      "Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=9\r\nProxy-Authenticate: x\r\nUpgrade: h2c\r\n";
    const forged = "Countersign-Outcome: not_sent\r\nCOUNTERSIGN-ERROR: draining\r\nCountersign-Attempts: 2\r\n";
    const answer = await answerWith(rawAnswer(200, "{}", hops + forged));
    for (const name of [
      "x-hop",
      "keep-alive",
      "proxy-authenticate",
      "upgrade",
      "countersign-error",
      "countersign-attempts",
    ]) {
      expect(answer.values(name)).toEqual([]);
    }
    expect(answer.values("countersign-outcome")).toEqual(["answered"]);
    expect(answer.values("connection")).toEqual(["close"]);
  });
});

it.each([301, 302, 303, 307, 308])("a redirect %i is passed on with its Location, never followed", async (status) => {
  const elsewhere = await startRawUpstream({ answer: rawAnswer(200, "{}") });
  const { url, simulator } = await stageProxy();
  const location = `${elsewhere.url}/json-api/create_order`;
  simulator.faults.add({ host: "api", kind: "answer", status, headers: { Location: location }, body: "moved" });
  const answer = await call(url);
  expect({ status: answer.status, text: answer.text }).toEqual({ status, text: "moved" });
  expect(answer.headers.location).toBe(location);
  expect(elsewhere.connections).toBe(0);
  expect(simulator.counts()).toMatchObject({ apiRequests: 1, replaced: 1 });
});
