/** A 401 is retried once with a new token if no byte of a body was sent; a body that has begun is never sent again. */
import { expect, it } from "vitest";
import { ask, readAnswers } from "../../../testkit/raw-caller.ts";
import { rawAnswer } from "../../../testkit/raw-upstream.ts";
import { rawRequest } from "../../../testkit/stage/pass-through.ts";
import { stage } from "../../../testkit/stage.ts";

const bearer = (head: string) => /^authorization: (.*)$/im.exec(head)?.[1];

it("retries a request without a body, once", async () => {
  const { upstream, send, finished } = await stage("route", { answer: [rawAnswer(401, "no"), rawAnswer(200, "yes")] });
  const answer = await send("GET /files/a");
  expect(answer).toMatchObject({ status: 200, text: "yes" });
  expect(answer.headers["countersign-attempts"]).toBe("2");
  expect(upstream.requests.map(({ head }) => bearer(head))).toEqual(["Bearer token_1", "Bearer token_2"]);
  expect(await finished()).toMatchObject({ retry: "cured" });
});

it("passes on the second 401", async () => {
  const { upstream, send } = await stage("route", rawAnswer(401, "no"));
  expect(await send("GET /files/a")).toMatchObject({ status: 401, text: "no" });
  expect(upstream.requests).toHaveLength(2);
});

it("passes on the 401 to a request whose body has begun, and has a new token for the next request", async () => {
  const { port, upstream, finished } = await stage("route", { answer: [rawAnswer(401, "no"), rawAnswer(200, "yes")] });
  const put = rawRequest("PUT /files/a", ["Content-Length: 4"], "body");
  expect(await ask(port, put)).toMatchObject({ status: 401, text: "no" });
  expect(upstream.requests).toHaveLength(1);
  const told = { retry: "not_possible", retryReason: "not_repeatable" };
  expect(await finished()).toMatchObject(told);
  expect(await ask(port, put)).toMatchObject({ status: 200, text: "yes" });
  expect(bearer(upstream.requests[1]?.head ?? "")).toBe("Bearer token_2");
});

it("asks for a body only when the service does, so that a 401 before it can be retried", async () => {
  const { caller, upstream } = await stage("route", {
    receive: (_, socket) => {
      if (upstream.connections === 1) socket.end(rawAnswer(401, "no"));
      else if (upstream.requests.length === 0) socket.write("HTTP/1.1 100 Continue\r\n\r\n");
    },
    answer: rawAnswer(201),
  });
  caller.write(rawRequest("PUT /files/a", ["Content-Length: 4", "Expect: 100-continue"]));
  await caller.until(/100 Continue/);
  const [interim, answer] = readAnswers(await caller.write("body").ended());
  expect(interim?.status).toBe(100);
  expect(answer).toMatchObject({ status: 201, headers: { "countersign-attempts": "2" } });
  expect(upstream.requests).toMatchObject([{ body: "body" }]);
  expect(bearer(upstream.requests[0]?.head ?? "")).toBe("Bearer token_2");
});

it("sends a body that has not begun with the retry, even if its sender sent no Expect", async () => {
  const { caller, upstream, finished } = await stage("route", {
    receive: (_, socket) => {
      if (upstream.connections === 1) socket.end(rawAnswer(401, "no"));
    },
    answer: rawAnswer(201),
  });
  caller.write(rawRequest("PUT /files/a", ["Content-Length: 4"]));
  await upstream.whenConnections(2);
  const [answer] = readAnswers(await caller.write("body").ended());
  expect(answer).toMatchObject({ status: 201 });
  expect(upstream.requests).toMatchObject([{ body: "body" }]);
  expect(await finished()).toMatchObject({ retry: "cured" });
});

it("sends a body that begins after a 401 with the retry, whole", async () => {
  const { caller, recorder, upstream } = await stage("route", {
    receive: (_, socket) => {
      // The rest of the 401 never comes.
      if (upstream.connections === 1) socket.write("HTTP/1.1 401 No\r\nContent-Length: 9\r\n\r\n");
    },
    answer: ({ number }, socket) => void (number === 1 && socket.write(rawAnswer(201))),
  });
  caller.write(rawRequest("PUT /files/a", ["Content-Length: 4"]));
  await recorder.nth("upstream_unauthorized", 1);
  await recorder.nth("token_adopted", 2);
  const [answer] = readAnswers(await caller.write("body").ended());
  expect(answer).toMatchObject({ status: 201 });
  expect(upstream.requests).toMatchObject([{ body: "body", head: expect.stringMatching(/bearer token_2/i) }]);
});

it("sends 100 to a sender that waits if the service ignores Expect", async () => {
  const { caller, upstream } = await stage("route", rawAnswer(201));
  caller.write(rawRequest("PUT /files/a", ["Content-Length: 4", "Expect: 100-continue"]));
  await caller.until(/100 Continue/);
  expect(readAnswers(await caller.write("body").ended()).map(({ status }) => status)).toEqual([100, 201]);
  expect(upstream.requests).toMatchObject([
    { body: "body", head: expect.stringMatching(/authorization: bearer token_1/i) },
  ]);
});

it("reconnects once if nothing could be written, and says not_sent", async () => {
  const { recorder, upstream, send } = await stage("route", {});
  upstream.refuse();
  const answer = await send("PUT /files/a", ["Content-Length: 4"], "body");
  expect(answer).toMatchObject({ status: 502, headers: { "countersign-outcome": "not_sent" } });
  expect(recorder.of("request_finished")).toMatchObject([{ code: "upstream_unreachable", cause: "ECONNREFUSED" }]);
});
