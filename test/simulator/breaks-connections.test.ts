import { Agent } from "node:http";
import { describe, expect, test } from "vitest";
import { send, sendBytes } from "./client.ts";
import { askForToken, order, orderInBytes, orderWithToken, stage, stageFault } from "./stage.ts";

function expectHalfAnAnswer(text: string): void {
  const announced = Number(/content-length: (\d+)/i.exec(text)?.[1]);
  expect(text.slice(text.indexOf("\r\n\r\n") + 4)).toHaveLength(Math.floor(announced / 2));
}

describe("broken connections", () => {
  test("reset before reading: nothing is seen, nothing takes effect", async () => {
    const { simulator, token } = await stageFault({ kind: "reset", when: "before_reading" });
    expect((await orderWithToken(simulator, token)).error).toBe("read ECONNRESET");
    expect(simulator.counts()).toMatchObject({ apiRequests: 0, accepted: 0, incomplete: 1 });
    expect((await orderWithToken(simulator, token)).status).toBe(200);
  });

  test("reset after reading: the order exists, no status was written", async () => {
    const { simulator, token } = await stageFault({ kind: "reset", when: "after_reading" });
    expect(await orderWithToken(simulator, token)).toMatchObject({ status: undefined, error: "read ECONNRESET" });
    expect(simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 1, cut: 1, apiAnswers: {} });
    expect(simulator.seen.apiRequests).toMatchObject([
      { orderId: "order_1", token: "token_1", answer: { status: undefined, ending: "cut" } },
    ]);
  });

  test("reset after reading a call that is refused: seen, judged, no order", async () => {
    const { simulator } = await stageFault({ kind: "reset", when: "after_reading" });
    expect((await orderWithToken(simulator, "nobody")).error).toBe("read ECONNRESET");
    expect(simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 0, unauthorized: 1, cut: 1 });
    expect(simulator.seen.apiRequests).toMatchObject([{ refusal: { code: "token_unknown" }, orderId: undefined }]);
  });

  test("reset in the middle of the answer", async () => {
    const { simulator, token } = await stageFault({ kind: "reset", when: "mid_answer" });
    const { text, error } = await sendBytes(simulator.apiUrl, orderInBytes(token)).ended;
    expect(error).toBe("read ECONNRESET");
    expectHalfAnAnswer(text);
    expect(simulator.counts()).toMatchObject({ accepted: 1, cut: 1, apiAnswers: { 200: 1 } });
  });

  test("truncated answer: more is announced than comes, then an orderly end", async () => {
    const { simulator, token } = await stageFault({ kind: "truncate" });
    const { text, error } = await sendBytes(simulator.apiUrl, orderInBytes(token)).ended;
    expect(error).toBeUndefined();
    expectHalfAnAnswer(text);
    expect(simulator.counts()).toMatchObject({ accepted: 1, cut: 1, apiAnswers: { 200: 1 } });
  });

  test("junk instead of HTTP", async () => {
    const { simulator, token } = await stageFault({ kind: "raw", bytes: "\u0000\u00ffnonsense\r\n" });
    expect((await orderWithToken(simulator, token)).error).toMatch(/^HPE_/);
    expect(simulator.counts()).toMatchObject({ accepted: 1, cut: 1 });
  });

  test("any raw answer", async () => {
    const bytes = "HTTP/1.1 200 Fine\r\nContent-Length: 2\r\nX-Odd: \u00e9\r\n\r\nok";
    const simulator = await stage();
    simulator.faults.add({ host: "login", kind: "raw", bytes });
    expect(await askForToken(simulator)).toMatchObject({ status: 200, body: "ok", headers: { "x-odd": "\u00e9" } });
    expect(simulator.counts().tokensIssued).toBe(1);
  });

  test("close after the answer without announcing it", async () => {
    const { simulator, token } = await stageFault({ kind: "close_after_answer" });
    const agent = new Agent({ keepAlive: true });
    const closed = new Promise((resolve) => agent.on("free", (socket) => socket.once("close", resolve)));
    const answer = await send(`${simulator.apiUrl}/create_order`, {
      agent,
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify(order("S1")),
    });
    expect(answer).toMatchObject({ status: 200, headers: { connection: "keep-alive" } });
    await closed;
    agent.destroy();
    expect(simulator.counts()).toMatchObject({ accepted: 1, cut: 0 });
  });
});
