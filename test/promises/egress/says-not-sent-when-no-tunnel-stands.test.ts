/** Row 78: whatever fails before the tunnel stands, at the proxy or on the way to it, is `not_sent` and says so. */
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { noTls, serverTls } from "../../../testkit/certificates.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { hmacSite } from "../../../testkit/stage.ts";
import { credentials, type EgressStage, egressThrough, places, stageEgress } from "./stage.ts";

const signed = { headers: { "Countersign-Site": hmacSite, "Countersign-Reference": "A-1042" } };
const timeouts = { requestMs: 15_000, connectMs: 200 };

interface Expected {
  readonly cause: RegExp;
  readonly result: string;
  readonly detail?: RegExp;
}

/** 502 not_sent, after one reconnect; nothing reached the service. */
async function expectNoTunnel({ url, simulator, recorder }: EgressStage, { cause, result, detail }: Expected) {
  const answer = await call(url, order, signed);
  const reference = "A-1042";
  const about = detail ?? /^The proxy/;
  expectFailure(answer, { status: 502, code: "upstream_unreachable", detail: about, reference });
  const end = await recorder.nth("request_finished", 1);
  expect(end).toMatchObject({ outcome: "not_sent", stage: "send", attempts: 1, cause: expect.stringMatching(cause) });
  const tunnels = recorder.of("tunnel_requested").filter(({ destination }) => destination === places.api);
  expect(tunnels.map((tunnel) => tunnel.result)).toEqual([result, result]);
  for (const tunnel of tunnels) expect(tunnel.cause).toMatch(cause);
  expect(simulator.counts()).toMatchObject({ apiConnections: 0, apiRequests: 0, tokenRequests: 0 });
}

const says = (bytes: string) => (socket: Socket) => {
  socket.end(bytes, "latin1");
  return true;
};
const reset = (socket: Socket) => {
  socket.resetAndDestroy();
  return true;
};
const status = (code: number) => says(`HTTP/1.1 ${code} No\r\nContent-Length: 2\r\n\r\nno`);
const malformed = (cause: RegExp) => ({ cause, result: "malformed" });

describe("a proxy that", () => {
  it.each<[string, (socket: Socket) => boolean, Expected]>([
    [
      "wants other credentials",
      status(407),
      {
        cause: /^PROXY_STATUS_407$/,
        result: "unauthorized",
        detail: /wants other credentials \(PROXY_STATUS_407\); see egress\.auth/,
      },
    ],
    ["forbids the host", status(403), { cause: /^PROXY_STATUS_403$/, result: "refused" }],
    ["does not reach the host", status(502), { cause: /^PROXY_STATUS_502$/, result: "refused" }],
    ["is busy", status(503), { cause: /^PROXY_STATUS_503$/, result: "refused" }],
    [
      "leads elsewhere",
      says("HTTP/1.1 302 Go\r\nLocation: http://x/\r\n\r\n"),
      { cause: /^PROXY_STATUS_302$/, result: "refused" },
    ],
    ["speaks another protocol", says("SSH-2.0-OpenSSH_9.6\r\n"), malformed(/^PROXY_NOT_HTTP_1_1$/)],
    ["speaks HTTP/2", says("HTTP/2 200 OK\r\n\r\n"), malformed(/^PROXY_NOT_HTTP_1_1$/)],
    ["upgrades", says("HTTP/1.1 101 Up\r\n\r\n"), malformed(/^PROXY_UPGRADE_NOT_ASKED_FOR$/)],
    [
      "sends half a header line",
      says("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"),
      malformed(/^PROXY_HEADER_LINE_MALFORMED$/),
    ],
    [
      "sends too long a head",
      says(`HTTP/1.1 200 OK\r\nA: ${"x".repeat(20_000)}\r\n\r\n`),
      malformed(/^PROXY_HEAD_TOO_LONG$/),
    ],
    [
      "sends interim responses without end",
      says("HTTP/1.1 103 Hints\r\nA: b\r\n\r\n".repeat(4_000)),
      malformed(/^PROXY_INTERIM_RESPONSES_TOO_LONG$/),
    ],
    ["closes instead of answering", says(""), { cause: /^PROXY_CLOSED$/, result: "failed" }],
    ["closes in its head", says("HTTP/1.1 200 OK\r\nA: b\r\n"), { cause: /^PROXY_CLOSED$/, result: "failed" }],
    ["resets instead of answering", reset, { cause: /^PROXY_(ECONNRESET|CLOSED)$/, result: "failed" }],
  ])("%s", async (_, onConnect, expected) => {
    await expectNoTunnel(await stageEgress({ proxy: { onConnect } }), expected);
  });

  it("does not know the password that it is given", async () => {
    const stage = await stageEgress({ proxy: { credentials: "other:password" }, egress: { credentials } });
    await expectNoTunnel(stage, { cause: /^PROXY_STATUS_407$/, result: "unauthorized" });
  });

  it("never answers, after timeouts.connect", async () => {
    const stage = await stageEgress({ timeouts, proxy: { onConnect: () => true } });
    await expectNoTunnel(stage, { cause: /^PROXY_TIMEOUT$/, result: "timed_out" });
  });

  it("answers byte by byte for longer than timeouts.connect", async () => {
    const onConnect = (socket: Socket) => {
      const timer = setInterval(() => socket.write("H"), 1_000);
      socket.write("HTTP/1.1 200 OK\r\nA: ");
      socket.on("close", () => clearInterval(timer));
      return true;
    };
    const stage = await stageEgress({ timeouts, proxy: { onConnect } });
    await expectNoTunnel(stage, { cause: /^PROXY_TIMEOUT$/, result: "timed_out" });
  });

  it("takes connections and closes them before it is asked", async () => {
    const stage = await stageEgress({ proxy: { accept: (socket) => void socket.resetAndDestroy() } });
    await expectNoTunnel(stage, { cause: /^PROXY_(ECONNRESET|CLOSED|EPIPE)$/, result: "failed" });
  });

  it("does not run", async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const stage = await stageEgress({ environment: { egress: egressThrough({ url }) } });
    await expectNoTunnel(stage, { cause: /^PROXY_ECONNREFUSED$/, result: "failed" });
  });

  it("has a name that does not exist", async () => {
    const url = "http://proxy.countersign.invalid:3128";
    const stage = await stageEgress({ environment: { egress: egressThrough({ url }) } });
    await expectNoTunnel(stage, {
      cause: /^PROXY_(ENOTFOUND|EAI_AGAIN|TIMEOUT)$/,
      result: expect.stringMatching(/failed|timed_out/),
    });
  });

  it("is not the one that its certificate should name", async () => {
    const stage = await stageEgress({ proxy: { tls: serverTls }, egress: { tls: noTls } });
    const detail =
      /^The proxy's TLS certificate or protocol is not acceptable \(PROXY_UNABLE_TO_VERIFY_LEAF_SIGNATURE\); see egress\.tls\./;
    await expectNoTunnel(stage, { cause: /^PROXY_UNABLE_TO_VERIFY_LEAF_SIGNATURE$/, result: "failed", detail });
    expect(stage.forward.heads).toEqual([]);
  });

  it("speaks no TLS where TLS is due", async () => {
    const stage = await stageEgress({ proxy: { accept: (socket) => void socket.end("HTTP/1.1 400 Bad\r\n\r\n") } });
    const url = stage.forward.url.replace("http:", "https:");
    const other = await stageEgress({ environment: { egress: egressThrough({ url }) } });
    await expectNoTunnel(other, { cause: /^PROXY_ERR_SSL_/, result: "failed" });
  });
});

it("no token is asked for without a tunnel, and the token's line says why", async () => {
  const { url, simulator, recorder } = await stageEgress({ proxy: { onConnect: status(407) } });
  const answer = await call(url);
  expectFailure(answer, { status: 503, code: "token_unavailable" });
  expect(await recorder.nth("token_requested", 1)).toMatchObject({ result: "failed", cause: "PROXY_STATUS_407" });
  expect(simulator.counts()).toMatchObject({ apiConnections: 0, loginConnections: 0 });
});

it("the same failure is worth a line once a minute", async () => {
  const { url, recorder } = await stageEgress({ proxy: { onConnect: status(403) } });
  for (let count = 0; count < 3; count += 1) expect((await call(url, order, signed)).status).toBe(502);
  expect(recorder.of("tunnel_requested").filter(({ isFirst }) => isFirst)).toHaveLength(1);
  expect(recorder.of("tunnel_requested").length).toBeGreaterThanOrEqual(6);
});

it("a deadline that comes first ends the wait for the tunnel, and nothing is sent later", async () => {
  let open = () => {};
  const onConnect = (socket: Socket) => {
    open = () => void socket.write("HTTP/1.1 200 OK\r\n\r\n");
    return true;
  };
  const { url, simulator, recorder } = await stageEgress({ proxy: { onConnect }, plain: true });
  const headers = { ...signed.headers, "Countersign-Timeout-Ms": "150" };
  const answer = await call(url, order, { headers });
  expectFailure(answer, { status: 504, code: "upstream_timeout", reference: "A-1042" });
  open();
  await recorder.nth("tunnel_requested", 1);
  expect(simulator.counts().apiRequests).toBe(0);
});

it("is back as soon as the proxy is", async () => {
  let isBusy = true;
  const onConnect = (socket: Socket) => isBusy && status(503)(socket);
  const { url, simulator } = await stageEgress({ proxy: { onConnect } });
  const statuses = [(await call(url, order, signed)).status];
  isBusy = false;
  statuses.push((await call(url, order, signed)).status);
  expect(statuses).toEqual([502, 200]);
  expect(simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 1 });
});
