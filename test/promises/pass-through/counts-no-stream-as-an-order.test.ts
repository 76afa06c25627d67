/** A stream that ends early is not counted as an unknown outcome: a safe method changes nothing (RFC 9110 9.2.1). */
import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { logOf } from "../../../testkit/log-lines.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { rawAnswer } from "../../../testkit/raw-upstream.ts";
import { rawRequest } from "../../../testkit/stage/pass-through.ts";
import { type Stage, stage } from "../../../testkit/stage.ts";

const soon = { timeouts: { requestMs: 300, connectMs: 300, tokenMs: 300 }, route: { idleMs: 300 } };
const eventStream =
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n";

it("an event stream that is reset", async () => {
  const { caller, ...staged } = await stageBytes(eventStream, (socket) =>
    setTimeout(() => socket.resetAndDestroy(), 50),
  );
  await caller.write(rawRequest("GET /files/events")).closed;
  await expectUncounted(staged, { status: 200, by: "service", code: "upstream_reset", outcome: "unknown" });
});

it("a download whose reader is too slow", async () => {
  const { caller, ...staged } = await stage(
    "routeToServer",
    (_, response) => void response.end(Buffer.alloc(64 * 1_048_576)),
    // Short for the stream only: the head of the answer may take longer.
    { route: { idleMs: 300 } },
  );
  caller.socket.pause();
  caller.write(rawRequest("GET /files/large"));
  await expectUncounted(staged, { status: 200, by: "service", code: "upstream_timeout", outcome: "unknown" });
});

it.each(["GET", "HEAD", "OPTIONS"])(
  "a %s without an answer, whose caller is told that it may send the request again",
  async (method) => {
    const { caller, ...staged } = await stage("routeToServer", () => {}, soon);
    const answer = await caller.write(rawRequest(`${method} /files/a`)).ended();
    expect(answer).toMatch(/^HTTP\/1\.1 504 [\s\S]*countersign-outcome: unknown/i);
    if (method !== "HEAD")
      expect(answer).toContain(`It is a ${method} and changes nothing: send it again as you like.`);
    await expectUncounted(staged, { status: 504, code: "upstream_timeout", outcome: "unknown" });
  },
);

it("a GET that is answered 503: the answer is whole", async () => {
  const staged = await stageBytes(rawAnswer(503, "busy", "Retry-After: 7\r\n"));
  const answer = await staged.send("GET /files/a");
  expect(answer).toMatchObject({
    status: 503,
    text: "busy",
    headers: { "countersign-outcome": "answered", "retry-after": "7" },
  });
  await expectUncounted(staged, { status: 503, by: "service", outcome: "answered" });
});

it("a WebSocket that is reset by the service", async () => {
  const { caller, ...staged } = await stage("webSocket", (socket) => {
    socket.on("data", () => (socket as Socket).resetAndDestroy());
    socket.write("hello");
  });
  await caller.until(/hello$/);
  caller.write("and now");
  await expectUncounted(staged, { status: 101, by: "service", code: "upstream_reset", outcome: "unknown" });
});

it.each(["POST", "PUT", "PATCH", "DELETE"])("but a %s without an answer is counted and listed", async (method) => {
  const staged = await stage("routeToServer", (incoming) => void incoming.resume(), soon);
  const answer = await ask(staged.port, rawRequest(`${method} /files/a`));
  expect(answer).toMatchObject({ status: 504, headers: { "countersign-outcome": "unknown" } });
  expect(answer.text).toContain("The call may have taken effect");
  const { counted, listed, level } = await countsOf(staged);
  expect({ counted, level }).toEqual({ counted: 1, level: "error" });
  expect(listed).toMatchObject([{ operation: "/files/", code: "upstream_timeout" }]);
});

it("and so is a POST that is answered 503", async () => {
  const staged = await stageBytes(rawAnswer(503, "busy", "Retry-After: 7\r\n"));
  const answer = await staged.send("POST /files/a");
  expect(answer).toMatchObject({ status: 503, text: "busy", headers: { "countersign-outcome": "unknown" } });
  expect(answer.headers).toMatchObject({ "countersign-retry-after": "7" });
  expect(answer.headers).not.toHaveProperty("retry-after");
  expect(await countsOf(staged)).toMatchObject({ counted: 1, level: "error", listed: [{ status: 503 }] });
});

it("and a redirect of a route is no failure: its caller may follow it", async () => {
  const staged = await stageBytes(rawAnswer(302, "", "Location: /files/b\r\n"));
  await staged.send("POST /files/a");
  expect(await countsOf(staged)).toMatchObject({ counted: 0, level: "info" });
  const { environments } = await staged.status();
  expect(environments[0]?.recent).toMatchObject({ requests: 1, failures: [] });
});

/** Everything that counts or lists the outcome of the one request that was sent. */
async function countsOf({ recorder, metrics, status, finished: ended }: Stage) {
  const finished = await ended();
  const { sum } = await metrics();
  const { requests, unknownOutcomes: listed } = await status();
  const [line] = logOf(recorder.events, "info").of("request_finished");
  expect(requests.unknownOutcomes).toBe(listed.length);
  expect(sum("countersign_failures_total", { code: finished.code ?? "", outcome: finished.outcome })).toBe(
    finished.code === undefined ? 0 : 1,
  );
  expect(sum("countersign_requests_total", { status: String(finished.status), outcome: finished.outcome })).toBe(1);
  return { finished, level: line?.level, counted: sum("countersign_unknown_outcomes_total"), listed };
}

async function expectUncounted(staged: Stage, expected: object): Promise<void> {
  const { finished, level, counted, listed } = await countsOf(staged);
  expect(finished).toMatchObject(expected);
  expect({ counted, listed }).toEqual({ counted: 0, listed: [] });
  expect(level).not.toBe("error");
}

/** A caller, and a service that answers every request with these bytes. */
async function stageBytes(bytes: string, after: (socket: Socket) => void = () => {}) {
  return stage("route", { answer: (_, socket) => void socket.write(bytes, () => after(socket)) });
}
