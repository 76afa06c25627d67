/** A caller that speaks TLS or HTTP/2 to a listener without them gets a refusal, and the log says what it speaks. */
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTls } from "node:tls";
import { expect, it, onTestFinished } from "vitest";
import { stage } from "../../../testkit/stage.ts";

it.each([
  ["TLS", (port: number) => connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false })],
  ["HTTP/2", (port: number) => connectHttp2(`http://127.0.0.1:${port}`)],
] as const)("a caller that speaks %s is told apart from a malformed request", async (protocol, open) => {
  const { port, recorder, simulator } = await stage();
  const caller = open(port);
  onTestFinished(() => void caller.destroy());
  await once(caller, "error");
  const refused = await recorder.nth("request_finished", 1);
  expect(refused).toMatchObject({ status: 400, code: "malformed_request", cause: protocol, outcome: "not_sent" });
  expect(simulator.counts().apiRequests).toBe(0);
});
