/** A fuzz run proves something only if its checks can fail: here every promise of a connection is broken once. */
import { describe, expect, it } from "vitest";
import type { Input } from "../../scripts/fuzz/input.ts";
import { judgeExchange, type Oracle, type Played } from "../../scripts/fuzz/judge.ts";
import { judgeRound, type Upstream } from "../../scripts/fuzz/judge-upstream.ts";
import { judgeLine } from "../../scripts/fuzz/proxy.ts";
import type { Transcript } from "../../scripts/fuzz/send.ts";

const [tag, otherTag] = ["t000000000001", "t000000000002"];
const body = `{"a":"${tag}"}`;
const request = `POST /create_order HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";

const oraclesOf = (broken: readonly { oracle: Oracle }[]) => broken.map(({ oracle }) => oracle);

it.each<readonly [string, Played, Oracle[]]>([
  ["that a complete request got nothing before the close", played(""), ["closed_unanswered"]],
  ["that the second of two requests got nothing", played(served(), "closed", request + request), ["closed_unanswered"]],
  ["that a request in chunks got nothing", played("", "closed", chunked), ["closed_unanswered"]],
  ["that nonsense got no answer", played("", "closed", "BLAH\r\n\r\n"), ["closed_unanswered"]],
  ["that nothing came in time", played("", "silent"), ["no_answer"]],
  ["that one request got two answers", played(served(1) + served(2)), ["surplus_answer"]],
  ["that an answer ends early", played(served().slice(0, -1)), ["answer_cut"]],
  ["that an answer is not HTTP", played("BLAH\r\n\r\n"), ["answer_malformed", "closed_unanswered"]],
  [
    "that a header comes twice",
    played(served().replace("x-req", "A: 1\r\nA: 1\r\nx-req")),
    ["answer_malformed", "closed_unanswered"],
  ],
  ["that an answer belongs to no request", played(served().replace("answered", "else")), ["answer_malformed"]],
  ["that a defect was answered", played(refused(500, "internal")), ["server_error"]],
  ["that a failure has no row", played(refused(400, "other")), ["failure_malformed"]],
  ["that a failure's body says something else", played(refused(400, "body_not_json", "{}")), ["failure_malformed"]],
  ["that a secret came out", played(served(1, "canary-1")), ["secret_in_answer"]],
  ["that there was no connection", played("", "refused"), ["connection_refused"]],
])("of one connection, the judge says %s", (_, given, oracles) => {
  expect(oraclesOf(judgeExchange(given))).toEqual(oracles);
});

const own = ["host", "api", "content-length", String(body.length)];

function arrived(number: number, more: Partial<Upstream> = {}): Upstream {
  const sent = { method: "POST", target: "/json-api/create_order", rawHeaders: own, body };
  return { number, ...sent, refusal: undefined, ...more };
}

describe("of what arrived upstream, the judge says", () => {
  const one = [played(served())];
  const framedTwice = { rawHeaders: [...own, "Transfer-Encoding", "x"] };
  const other = played(served(2, `{"a":"${otherTag}"}`), "closed", request, otherTag);
  it.each<readonly [string, Played[], Upstream[], Oracle[]]>([
    ["that a request has no answer", one, [arrived(1), arrived(2)], ["upstream_unanswered"]],
    [
      "that no caller sent the request",
      one,
      [arrived(1), arrived(2, { body: "{}" })],
      ["upstream_unasked", "upstream_headers"],
    ],
    ["that an answer came twice", [played(served() + served())], [arrived(1)], ["upstream_repeated"]],
    ["that an answer is an old one", [played(served(9))], [], ["surplus_answer"]],
    [
      "that answers were exchanged",
      [played(served(1, `{"a":"${otherTag}"}`)), other],
      [arrived(1), arrived(2)],
      ["crossed_answer"],
    ],
    ["that the service refused the request", one, [arrived(1, { refusal: "x" })], ["upstream_refused"]],
    ["that the request went to another target", one, [arrived(1, { target: "/evil" })], ["upstream_target"]],
    ["that framing was forwarded", one, [arrived(1, framedTwice)], ["upstream_headers"]],
    ["that the request's length is wrong", one, [arrived(1, { body: `${body} ` })], ["upstream_headers"]],
  ])("%s", (_, all, upstream, oracles) => {
    const broken = judgeRound({ played: all, upstream, earlierTags: new Set(), wereLeft: false });
    expect(oraclesOf(broken).sort()).toEqual(oracles.sort());
  });
});

it.each<readonly [string, Oracle[]]>([
  ['{"event":"defect","where":"enrich","error":"TypeError"}', ["defect_logged"]],
  ['{"event":"x","a":"canary-1"}', ["secret_in_log"]],
  ["Error: at line 1", ["log_malformed"]],
])("about the log line %s the watch says %j", (line, oracles) => {
  expect(oraclesOf(judgeLine(line))).toEqual(oracles);
});

function served(number = 1, text = body, status = 200): string {
  const own = `x-request-id: api_${number}\r\nCountersign-Outcome: answered`;
  return `HTTP/1.1 ${status} OK\r\nContent-Length: ${text.length}\r\n${own}\r\n\r\n${text}`;
}

function refused(status: number, code: string, text = JSON.stringify({ status, code, outcome: "not_sent" })): string {
  const own = `Countersign-Request-Id: 1\r\nCountersign-Error: ${code}\r\nCountersign-Outcome: not_sent`;
  const length = `Content-Type: application/problem+json\r\nContent-Length: ${text.length}\r\nConnection: close`;
  return `HTTP/1.1 ${status} Bad\r\n${length}\r\n${own}\r\n\r\n${text}`;
}

function played(received: string, end: Transcript["end"] = "closed", text = request, mine = tag): Played {
  const input: Input = { door: "tcp", bytes: Buffer.from(text, "latin1"), slices: [], ending: "stay", tag: mine };
  return { input, transcript: { received, end } };
}
