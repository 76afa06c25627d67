/**
 * Any answer of the service reaches the caller byte for byte; a redirect too, which is never followed. A 5xx has the outcome
 * `unknown`, unless the environment's `undecided` says otherwise, and then no Retry-After, which clients obey by themselves.
 */
import { describe, expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { accessLines } from "../../../testkit/log-lines.ts";
import { orderRaw } from "../../../testkit/raw-caller.ts";
import { granted, rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, oauthSite, stage } from "../../../testkit/stage.ts";

const signed = { "Countersign-Site": hmacSite };

/** A body that is neither JSON nor text. */
const everyByte = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).join("");

describe("status and body", () => {
  it.each([200, 201, 202, 206, 299, 400, 403, 404, 405, 409, 415, 422, 429, 431, 500, 501, 502, 503, 504, 507, 599])(
    "of a %i with its length announced",
    async (status) => {
      const answer = await answerWith(rawAnswer(status, everyByte));
      expect(answer).toMatchObject({ status, body: everyByte, isComplete: true });
      expect(answer.value("content-length")).toBe("256");
      expect(answer.value("countersign-outcome")).toBe(outcomeOf(status));
    },
  );

  const chunks = ["first ", everyByte, " last"].map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join("");
  const large = everyByte.repeat(20_000);

  it.each([
    ["an empty answer", rawAnswer(200), ""],
    ["a large answer", rawAnswer(200, large), large],
    [
      "an answer in chunks",
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
      `first ${everyByte} last`,
    ],
  ])("of %s", async (_, bytes, body) => {
    const answer = await answerWith(bytes);
    expect(answer).toMatchObject({ status: 200, isComplete: true });
    expect(answer.body === body).toBe(true);
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

  it("are dropped if they are for one connection only, or in Countersign's name", async () => {
    const hops = [
      "Connection: keep-alive, X-HOP",
      "X-Hop: 1",
      "Keep-Alive: timeout=9",
      "UPGRADE: h2c",
      "TE: x",
      "Trailer: x",
      "Proxy-Authenticate: x",
      "Proxy-Authorization: x",
      "Proxy-Connection: x",
    ];
    const forged = ["Countersign-Outcome: not_sent", "COUNTERSIGN-ERROR: draining", "Countersign-Whatever: 2"];
    const lines = [...hops, ...forged, "X-Hops: 2"].map((line) => `${line}\r\n`).join("");
    const answer = await answerWith(rawAnswer(200, "{}", lines));
    const own = /^(content-length: 2|connection: close|countersign-(outcome|request-id): .*|x-hops: 2)$/i;
    expect(answer.lines.filter((line) => !own.test(line))).toEqual([]);
    expect(answer.value("x-hops")).toBe("2");
    expect(answer.values("countersign-outcome")).toEqual(["answered"]);
    expect(answer.values("connection")).toEqual(["close"]);
  });
});

it.each([301, 302, 303, 307, 308])("a redirect %i is passed on with its Location, never followed", async (status) => {
  const elsewhere = await startRawUpstream({ answer: rawAnswer(200, "{}") });
  const { url, simulator } = await stage();
  const location = `${elsewhere.url}/json-api/create_order`;
  simulator.faults.add({ host: "api", kind: "answer", status, headers: { Location: location }, body: "moved" });
  const answer = await call(url);
  expect({ status: answer.status, text: answer.text }).toEqual({ status, text: "moved" });
  expect(answer.headers.location).toBe(location);
  expect(elsewhere.connections).toBe(0);
  expect(simulator.counts()).toMatchObject({ apiRequests: 1, replaced: 1 });
});

const plain = "HTTP/1.1 100 Continue\r\n\r\n";
const interim = {
  "100 Continue": plain,
  "100 without a reason": "HTTP/1.1 100\r\n\r\n",
  "100 of HTTP/1.0": "HTTP/1.0 100 Continue\r\n\r\n",
  "100 with headers": "HTTP/1.1 100 Continue\r\nServer: x\r\nCountersign-Outcome: not_sent\r\n\r\n",
  "102 Processing": "HTTP/1.1 102 Processing\r\n\r\n",
  "103 Early Hints": "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nLink: </b>\r\n\r\n",
  "199, which nothing defines": "HTTP/1.1 199 Soon\r\n\r\n",
  "four in a row": `${plain}HTTP/1.1 102 Processing\r\n\r\n${plain}HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n`,
  "a thousand in a row": plain.repeat(1_000),
} as const;

/** RFC 9110 section 15.2: interim responses may come unrequested, in any number and in any pieces. */
describe.each(Object.entries(interim))("the interim response %s", (_name, bytes) => {
  it("of the service is ignored, and its connection serves further requests", async () => {
    const { upstream, port } = await stage("service", {
      answer: ({ number }, socket) => void socket.write(bytes + rawAnswer(201, `{"n":${number}}`)),
    });
    for (const n of [1, 2, 3]) {
      const answer = await orderRaw(port, signed);
      expect(answer).toMatchObject({ status: 201, body: `{"n":${n}}`, isComplete: true });
      expect(answer.values("countersign-outcome")).toEqual(["answered"]);
      expect(answer.values("link")).toEqual([]);
    }
    expect(upstream.requests).toHaveLength(3);
    expect(upstream.connections).toBe(1);
  });

  it("of the authorization server is ignored", async () => {
    const login = await startRawUpstream({ answer: `${bytes}${granted}` });
    const options = { authUrl: login.url, oneSet: true };
    const { port, upstream } = await stage("service", { answer: rawAnswer(200, "{}") }, options);
    expect(await orderRaw(port)).toMatchObject({ status: 200, body: "{}" });
    expect(upstream.requests[0]?.head).toContain("canary-token");
    expect(login.requests).toHaveLength(1);
  });
});

it("interim responses are ignored while the answer is slow", async () => {
  const { port } = await stage("service", {
    answer: (_request, socket) => {
      socket.write(plain);
      setTimeout(() => socket.write(rawAnswer(200, "{}")), 100);
    },
  });
  expect(await orderRaw(port, signed)).toMatchObject({ status: 200, body: "{}", isComplete: true });
});

const gateway = "<html>Bad gateway</html>";
const headers = "Server: balancer\r\nRetry-After: 7\r\nCountersign-Outcome: answered\r\n";

const answersOf = (statuses: readonly number[]) => ({
  answer: statuses.map((status) => rawAnswer(status, gateway, headers)),
});

/** A service behind something that answers with these statuses in turn. */
const stageUndecided = (statuses: readonly number[], undecided: "5xx" | readonly number[]) =>
  stage("service", answersOf(statuses), {
    environment: { undecided: undecided === "5xx" ? undecided : new Set(undecided) },
    oneSet: true,
  });

it.each([
  [hmacSite, "5xx"],
  [oauthSite, "5xx"],
  [hmacSite, [502, 504]],
] as const)(
  "an undecided answer at %s, if the list is %o, passes unchanged, and is counted as unknown everywhere",
  async (site, undecided) => {
    const staged = await stageUndecided([502, 504], undecided);
    for (const status of [502, 504]) {
      const answer = await orderRaw(staged.port, { "Countersign-Site": site, "Countersign-Reference": `A-${status}` });
      expect(answer).toMatchObject({ status, body: gateway, isComplete: true });
      expect(answer.lines).toEqual(expect.arrayContaining(["Server: balancer", "Countersign-Retry-After: 7"]));
      expect(answer.value("retry-after")).toBeUndefined();
      expect(answer.values("countersign-outcome")).toEqual(["unknown"]);
      expect(answer.value("countersign-error")).toBeUndefined();
    }
    expect(await accessLines(staged, 2)).toMatchObject([
      { level: "error", status: 502, by: "service", outcome: "unknown", reference: "A-502" },
      { level: "error", status: 504, by: "service", outcome: "unknown", reference: "A-504" },
    ]);
    const { sum } = await staged.metrics();
    expect(sum("countersign_unknown_outcomes_total", { site })).toBe(2);
    expect(sum("countersign_requests_total", { site, by: "service", outcome: "unknown" })).toBe(2);
    expect(sum("countersign_requests_total", { status: "502", by: "service", outcome: "unknown" })).toBe(1);
    expect(sum("countersign_failures_total")).toBe(0);
    const { requests, unknownOutcomes } = await staged.status();
    expect(requests.unknownOutcomes).toBe(2);
    expect(unknownOutcomes).toMatchObject([
      { reference: "A-504", status: 504, operation: "create_order", site },
      { reference: "A-502", status: 502, operation: "create_order", site },
    ]);
    expect(await staged.page()).toContain("answered 504");
  },
);

it("a 5xx that is not in the list, or any 5xx if the list is empty, is the service's answer", async () => {
  const some = await stageUndecided([500, 503, 400], [502, 504]);
  const none = await stageUndecided([502, 503, 504], []);
  for (const staged of [some, none]) {
    for (let n = 1; n <= 3; n++) {
      const answer = await orderRaw(staged.port, signed);
      expect(answer.values("countersign-outcome")).toEqual(["answered"]);
      expect(answer.values("retry-after")).toEqual(["7"]);
      expect(answer.value("countersign-retry-after")).toBeUndefined();
    }
    expect(staged.recorder.of("request_finished").map(({ outcome }) => outcome)).toEqual(Array(3).fill("answered"));
  }
});

it("each Retry-After of an unknown answer is renamed, in any casing; that of a 429 or a redirect stays", async () => {
  const twice = "retry-AFTER: 1\r\nX-Retry-After: 2\r\nRetry-After: Tue, 02 Jan 2024 03:04:05 GMT\r\n";
  const { port } = await stage("service", {
    answer: [503, 500, 429, 301].map((status) => rawAnswer(status, "{}", twice)),
  });
  const told = [];
  for (let n = 1; n <= 4; n++) {
    const answer = await orderRaw(port, signed);
    expect(answer.value("x-retry-after")).toBe("2");
    told.push([answer.values("retry-after").length, answer.values("countersign-retry-after")]);
  }
  const renamed = [0, ["1", "Tue, 02 Jan 2024 03:04:05 GMT"]];
  expect(told).toEqual([renamed, renamed, [2, []], [2, []]]);
});

it("a retry that gets a 5xx from something in front of the service is unknown, too", async () => {
  const staged = await stage("token", answersOf([401, 502]), { environment: { undecided: new Set([502]) } });
  const answer = await orderRaw(staged.port);
  expect(answer).toMatchObject({ status: 502, body: gateway, isComplete: true });
  expect(answer.value("countersign-attempts")).toBe("2");
  expect(answer.value("countersign-outcome")).toBe("unknown");
});

async function answerWith(bytes: string) {
  const { port, upstream, finished } = await stage("service", { answer: bytes });
  const answer = await orderRaw(port, signed);
  expect(upstream.requests).toHaveLength(1);
  const { status } = answer;
  expect(await finished()).toMatchObject({ status, by: "service", outcome: outcomeOf(status), attempts: 1 });
  expect(answer.value("countersign-error")).toBeUndefined();
  return answer;
}

/** A 5xx passes like any answer, but its outcome is `unknown`. */
function outcomeOf(status: number): string {
  return status >= 500 ? "unknown" : "answered";
}
