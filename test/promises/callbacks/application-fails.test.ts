/** An application that fails gets a callback again, and its sender a true answer. */
import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { accepts, answering } from "../../../testkit/stage/callbacks.ts";
import { stage } from "../../../testkit/stage.ts";
import { expectProblem, forms, freshCallback, send, sendJson } from "./sender.ts";

it.each([
  ["its own timeout", { timeoutMs: 300 }],
  ["timeouts.request", { config: { timeouts: { requestMs: 300, connectMs: 200, tokenMs: 200 } } }],
])("an application that is slow is 504, unknown, after %s; the same callback may come again", async (_, options) => {
  const { application, callbackPort } = await stage("callbacks", options);
  application.answerWith(() => {});
  const callback = freshCallback();
  const startedMs = performance.now();
  const answer = await sendJson(callbackPort, callback);
  const tookMs = performance.now() - startedMs;
  expectProblem(answer, "application_timeout", "unknown");
  expect(tookMs).toBeGreaterThan(290);
  expect(tookMs).toBeLessThan(1_500);
  application.answerWith(accepts);
  expect((await sendJson(callbackPort, callback)).status).toBe(200);
  expect(application.received).toHaveLength(2);
});

it("an application that resets the connection is 502, unknown, and gets the callback once", async () => {
  let count = 0;
  const { callbackPort } = await stage("application", (socket) => {
    count += 1;
    socket.once("data", () => socket.resetAndDestroy());
  });
  expectProblem(await sendJson(callbackPort, freshCallback()), "application_failed", "unknown");
  expect(count).toBe(1);
});

it.each([
  ["no HTTP", "hello\r\n\r\n"],
  ["HTTP/2", "HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n"],
  ["a switch of protocols", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"],
  ["half a head", "HTTP/1.1 200 OK\r\ncontent-le"],
  ["a transfer coding", "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n2\r\nOK\r\n0\r\n\r\n"],
  ["a head that cannot be written again", "HTTP/1.1 200 OK\r\nx-own: a\x01b\r\ncontent-length: 2\r\n\r\nOK"],
])("an application that answers with %s is 502, unknown", async (_, bytes) => {
  const { callbackPort } = await stage("application", answering(bytes));
  expectProblem(await sendJson(callbackPort, freshCallback()), "application_failed", "unknown");
});

it("an answer that is too long is not passed on", async () => {
  const { application, callbackPort } = await stage("callbacks");
  application.answerWith((response) => response.writeHead(500).end("x".repeat(65_537)));
  expectProblem(await sendJson(callbackPort, freshCallback()), "application_failed", "unknown");
  application.answerWith((response) => response.writeHead(500).end("x".repeat(65_536)));
  const whole = await sendJson(callbackPort, freshCallback());
  expect([whole.status, whole.text.length]).toEqual([500, 65_536]);
});

it.each(forms)("callbacks share a kept connection (%s)", async (_, write) => {
  const heads: string[] = [];
  let connections = 0;
  const { callbackPort } = await stage("application", (socket) => {
    connections += 1;
    socket.setEncoding("latin1").on("data", (text: string) => {
      heads.push(text);
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOK");
    });
  });
  for (let nth = 0; nth < 30; nth++) {
    const sent = write(freshCallback());
    expect(await send(callbackPort, sent)).toMatchObject({ status: 200, text: "OK" });
    const [head = "", body] = (heads[nth] ?? "").split("\r\n\r\n");
    expect(head).toMatch(/^connection: keep-alive$/im);
    expect(body).toBe(sent.body ?? "");
    const length = sent.body === undefined ? [] : [`content-length: ${sent.body.length}`];
    expect(head.match(/^(content-length|transfer-encoding):.*$/gim) ?? []).toEqual(length);
  }
  expect(connections).toBe(1);
});

it.each([
  ["says so", "connection: close\r\n"],
  ["speaks HTTP/1.0", ""],
])("an application that %s gets each callback on a connection of its own", async (_, header) => {
  const version = header === "" ? "1.0" : "1.1";
  let connections = 0;
  const { callbackPort } = await stage("application", (socket) => {
    connections += 1;
    socket.on("data", () => socket.end(`HTTP/${version} 200 OK\r\n${header}content-length: 2\r\n\r\nOK`));
  });
  for (let nth = 1; nth <= 3; nth++) {
    expect(await sendJson(callbackPort, freshCallback())).toMatchObject({ status: 200 });
    expect(connections).toBe(nth);
  }
});

it.each([
  ["closes", (socket: Socket) => socket.end()],
  ["resets", (socket: Socket) => socket.resetAndDestroy()],
])("an application that %s an idle connection gets the next callback on a new one", async (_, end) => {
  const sockets: Socket[] = [];
  const { callbackPort } = await stage("application", (socket) => {
    sockets.push(socket);
    socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOK"));
  });
  for (let nth = 1; nth <= 5; nth++) {
    expect(await sendJson(callbackPort, freshCallback())).toMatchObject({ status: 200 });
    const last = sockets.at(-1) ?? expect.unreachable();
    // The next callback is sent at the same moment.
    end(last);
  }
  expect(sockets).toHaveLength(5);
});

it("a callback whose bytes were written to a kept connection that breaks is 502, unknown, and is not sent again", async () => {
  let callbacks = 0;
  const { callbackPort } = await stage("application", (socket) => {
    socket.on("data", () => {
      callbacks += 1;
      if (callbacks === 1) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOK");
      else socket.end();
    });
  });
  expect(await sendJson(callbackPort, freshCallback())).toMatchObject({ status: 200 });
  expectProblem(await sendJson(callbackPort, freshCallback()), "application_failed", "unknown");
  expect(callbacks).toBe(2);
});

it("interim answers are left out", async () => {
  const bytes = "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOK";
  const { callbackPort } = await stage("application", answering(bytes));
  expect(await sendJson(callbackPort, freshCallback())).toMatchObject({ status: 200, text: "OK" });
});

it("callbacks under way are completed when the process is told to end, and none is lost", async () => {
  const { application, callbackPort, proxy } = await stage("callbacks");
  application.answerWith((response, received) => setTimeout(() => accepts(response, received), 400));
  const sent = Promise.all(Array.from({ length: 10 }, () => sendJson(callbackPort, freshCallback())));
  await expect.poll(() => application.received.length).toBe(10);
  expect(await proxy.stop("SIGTERM")).toBe(true);
  expect((await sent).map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
});
