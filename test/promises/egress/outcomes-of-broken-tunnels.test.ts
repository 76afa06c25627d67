/**
 * A failure before a byte of the request was written, at the proxy, on the way to it or in the tunnel, is `not_sent`;
 * a failure afterwards is `unknown`.
 */
import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { noTls, serverTls } from "../../../testkit/certificates.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { RawConnection, rawPost } from "../../../testkit/raw-caller.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import {
  credentials,
  type EgressOptions,
  egressThrough,
  places,
  serviceCertificate,
} from "../../../testkit/stage/egress.ts";
import { hmacSite, type StageOf, stage } from "../../../testkit/stage.ts";
import { certificate } from "../../simulator/certificate.ts";

const reference = "A-1042";
const signed = { headers: { "Countersign-Site": hmacSite, "Countersign-Reference": reference } };
const timeouts = { requestMs: 15_000, connectMs: 200 };

const status = (code: number) => says(`HTTP/1.1 ${code} No\r\nContent-Length: 2\r\n\r\nno`);

/** A proxy that does this at each request for a tunnel; one at this address; and one that does this at each connection. */
const on = (onConnect: OnConnect): EgressOptions => ({ proxy: { onConnect } });
const at = (url: string): EgressOptions => ({ environment: { egress: egressThrough({ url }) } });
const accepts = (accept: (socket: Socket) => void): EgressOptions => ({ proxy: { accept } });

const tooLongHead = `HTTP/1.1 200 OK\r\nA: ${"x".repeat(20_000)}\r\n\r\n`;
const endlessHints = "HTTP/1.1 103 Hints\r\nA: b\r\n\r\n".repeat(4_000);
const otherPassword = { proxy: { credentials: "other:password" }, egress: { credentials } };
const impostor = { proxy: { tls: serverTls }, egress: { tls: noTls } };
const wantsOthers =
  /the proxy wants other credentials \(PROXY_STATUS_407\); put user:password into the file of egress\.auth/;
const ofTls =
  /the proxy: its certificate is by an unknown issuer \(PROXY_UNABLE_TO_VERIFY_LEAF_SIGNATURE\); see that egress\.tls\.caFile/;
const eitherWay = expect.stringMatching(/failed|timed_out/);

describe("not_sent: a proxy that", () => {
  it.each<[name: string, EgressOptions, result: unknown, cause: RegExp, detail?: RegExp]>([
    ["demands other credentials", on(status(407)), "unauthorized", /^PROXY_STATUS_407$/, wantsOthers],
    ["does not know the password that it is given", otherPassword, "unauthorized", /^PROXY_STATUS_407$/],
    ["forbids the host", on(status(403)), "refused", /^PROXY_STATUS_403$/],
    ["leads elsewhere", on(says("HTTP/1.1 302 Go\r\nLocation: http://x/\r\n\r\n")), "refused", /^PROXY_STATUS_302$/],
    ["speaks another protocol", on(says("SSH-2.0-OpenSSH_9.6\r\n")), "malformed", /^PROXY_NOT_HTTP_1_1$/],
    ["speaks HTTP/2", on(says("HTTP/2 200 OK\r\n\r\n")), "malformed", /^PROXY_NOT_HTTP_1_1$/],
    ["upgrades", on(says("HTTP/1.1 101 Up\r\n\r\n")), "malformed", /^PROXY_UPGRADE_NOT_ASKED_FOR$/],
    ["sends half a line", on(says("HTTP/1.1 200 OK\r\nA\r\n\r\n")), "malformed", /^PROXY_HEADER_LINE_MALFORMED$/],
    ["sends too long a head", on(says(tooLongHead)), "malformed", /^PROXY_HEAD_TOO_LONG$/],
    ["never ends its hints", on(says(endlessHints)), "malformed", /^PROXY_INTERIM_RESPONSES_TOO_LONG$/],
    ["closes instead of answering", on(says("")), "failed", /^PROXY_CLOSED$/],
    ["closes in its head", on(says("HTTP/1.1 200 OK\r\nA: b\r\n")), "failed", /^PROXY_CLOSED$/],
    ["resets instead of answering", on(resets), "failed", /^PROXY_(ECONNRESET|CLOSED)$/],
    ["resets before the request for a tunnel", accepts(resets), "failed", /^PROXY_(ECONNRESET|CLOSED|EPIPE)$/],
    ["never answers within timeouts.connect", { timeouts, ...on(() => true) }, "timed_out", /^PROXY_TIMEOUT$/],
    ["answers byte by byte for longer", { timeouts, ...on(dribbles) }, "timed_out", /^PROXY_TIMEOUT$/],
    ["does not run", at("http://127.0.0.1:1"), "failed", /^PROXY_ECONNREFUSED$/],
    ["has no known name", at("http://a.invalid:3128"), eitherWay, /^PROXY_(ENOTFOUND|EAI_AGAIN|TIMEOUT)$/],
    ["has another's certificate", impostor, "failed", /^PROXY_UNABLE_TO_VERIFY_LEAF_SIGNATURE$/, ofTls],
  ])("%s", async (_, options, result, cause, detail) => {
    const staged = await stage("egress", options);
    await expectNoTunnel(staged, result, cause, detail);
    // A proxy that is not the expected one gets no request.
    if (options === impostor) expect(staged.forward.heads).toEqual([]);
  });

  it("speaks no TLS though its URL is https", async () => {
    const { forward } = await stage(
      "egress",
      accepts((socket) => void socket.end("HTTP/1.1 400 Bad\r\n\r\n")),
    );
    const staged = await stage("egress", at(forward.url.replace("http:", "https:")));
    await expectNoTunnel(staged, "failed", /^PROXY_ERR_SSL_/);
  });
});

it("no token is requested without a tunnel, and the token's log line says why", async () => {
  const { url, simulator, recorder } = await stage("egress", { proxy: { onConnect: status(407) } });
  const answer = await call(url);
  expectFailure(answer, { status: 503, code: "token_unavailable" });
  expect(await recorder.nth("token_requested", 1)).toMatchObject({ result: "failed", cause: "PROXY_STATUS_407" });
  expect(simulator.counts()).toMatchObject({ apiConnections: 0, loginConnections: 0 });
});

it("the same failure is logged once a minute", async () => {
  const { url, recorder } = await stage("egress", { proxy: { onConnect: status(403) } });
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
  const { url, simulator, recorder } = await stage("egress", { proxy: { onConnect }, plain: true });
  const headers = { ...signed.headers, "Countersign-Timeout-Ms": "150" };
  const answer = await call(url, order, { headers });
  expectFailure(answer, { status: 504, code: "upstream_timeout", reference: "A-1042" });
  open();
  await recorder.nth("tunnel_requested", 1);
  expect(simulator.counts().apiRequests).toBe(0);
});

async function expectUnreachable(url: string, detail: RegExp): Promise<void> {
  const failure = { status: 502, code: "upstream_unreachable", detail, reference } as const;
  expectFailure(await call(url, order, signed), failure);
}

describe("not_sent: before the first byte of the request", () => {
  it("the proxy closes the tunnel that it has just opened", async () => {
    const { url, simulator, forward } = await stage("egress", {
      proxy: { onTunnel: (client) => void client.end("HTTP/1.1 200 OK\r\n\r\n"), established: "" },
    });
    await expectUnreachable(url, /the connection is closed as soon as it is made \(ECONNRESET\)/);
    expect(forward.targets().filter((target) => target === places.api)).toHaveLength(2);
    expect(simulator.counts()).toMatchObject({ apiRequests: 0 });
  });

  it("bytes that are no TLS come through the tunnel", async () => {
    const { url, forward } = await stage("egress");
    const { port } = await startRawUpstream({ receive: (_, socket) => void socket.end("<html>blocked</html>") });
    forward.hosts = { ...forward.hosts, [places.api]: port };
    await expectUnreachable(url, /: it does not speak TLS/);
  });

  it.each([true, false])("the proxy sends an answer of its own behind the tunnel's, http: %s", async (plain) => {
    const established = `HTTP/1.1 200 OK\r\n\r\n${rawAnswer(200, '{"forged":true}')}`;
    const { url, simulator, forward } = await stage("egress", { plain, proxy: { established } });
    await expectUnreachable(url, /PROXY_BYTES_BEHIND_HEAD/);
    expect(forward.targets().filter((target) => target === places.api)).toHaveLength(2);
    expect(simulator.counts().apiRequests).toBe(0);
  });

  it("nothing answers the TLS handshake: the service is to blame, not the proxy", async () => {
    const { port } = await startRawUpstream();
    const { url, forward, recorder } = await stage("egress", { timeouts: { requestMs: 15_000, connectMs: 300 } });
    forward.hosts = { ...forward.hosts, [places.api]: port };
    await expectUnreachable(url, /no connection in time \(CONNECT_TIMEOUT\)/);
    const tunnels = recorder.of("tunnel_requested").filter(({ destination }) => destination === places.api);
    expect(tunnels.map(({ result }) => result)).toEqual(["opened", "opened"]);
  });

  it.each([
    ["a certificate of its own", certificate, /DEPTH_ZERO_SELF_SIGNED_CERT/],
    ["another name's certificate by our authority", serverTls, /ERR_TLS_CERT_ALTNAME_INVALID/],
  ])("the proxy intercepts, with %s", async (_, own, detail) => {
    const interceptor = await startRawUpstream({ tls: own, answer: rawAnswer(200, "{}") });
    const { url, forward, simulator } = await stage("egress");
    forward.hosts = { [places.api]: interceptor.port, [places.login]: interceptor.port };
    await expectUnreachable(url, detail);
    expectFailure(await call(url), { status: 503, code: "token_unavailable" });
    expect(interceptor.spoken).toBe(0);
    expect(simulator.counts()).toMatchObject({ apiRequests: 0 });
  });

  it("an authority that is trusted for the proxy is not trusted for the service, nor the reverse", async () => {
    const { url, forward } = await stage("egress", { proxy: { tls: serverTls }, environment: { tls: noTls } });
    await expectUnreachable(url, /: its certificate is by an unknown issuer \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\)/);
    expect(forward.targets()).toContain(places.api);
  });
});

describe("unknown: once a byte of the request was written", () => {
  it.each<[string, (side: Socket) => void]>([
    ["resets", (side) => void side.resetAndDestroy()],
    ["closes", (side) => void side.end()],
    ["drops", (side) => void side.destroy()],
  ])("the proxy %s both sides", async (_, kill) => {
    let tunnel: readonly Socket[] = [];
    const service = await startRawUpstream({ tls: serviceCertificate, answer: () => tunnel.forEach(kill) });
    const { url, forward } = await stage("egress", {
      proxy: {
        onTunnel: (client, host) => {
          if (host.remotePort === service.port) tunnel = [client, host];
        },
      },
    });
    forward.hosts = { ...forward.hosts, [places.api]: service.port };
    const answer = await call(url, order, signed);
    expectFailure(answer, { status: 502, code: "upstream_reset", outcome: "unknown", reference });
    expect(service.spoken).toBe(1);
    expect(forward.targets().filter((target) => target === places.api)).toHaveLength(1);
  });

  it.each([true, false])(
    "the tunnel is reset within a long answer that only the close ends, http: %s",
    async (plain) => {
      let tunnel: Socket | undefined;
      const { port, simulator } = await stage("egress", {
        plain,
        proxy: {
          onTunnel: (client, host) => {
            if (String(host.remotePort) === new URL(simulator.apiUrl).port) tunnel = client;
          },
        },
      });
      // Too long to be read whole before it is passed on.
      const bytes = `HTTP/1.1 200 OK\r\n\r\n${" ".repeat(70_000)}{"part":`;
      simulator.faults.add({ host: "api", kind: "raw", bytes, close: false });
      const caller = await RawConnection.open(port);
      const failed = once(caller.socket, "error");
      caller.write(rawPost({ more: [`Countersign-Site: ${hmacSite}`] }));
      await caller.until(/"part":/);
      tunnel?.resetAndDestroy();
      expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
      expect(simulator.counts().apiRequests).toBe(1);
    },
  );
});

it("a tunnel that broke while it was idle fails no request", async () => {
  const clients: Socket[] = [];
  const { url, simulator, forward } = await stage("egress", {
    proxy: { onTunnel: (client) => void clients.push(client) },
  });
  expect((await call(url)).status).toBe(200);
  for (const client of clients) client.resetAndDestroy();
  expect((await call(url)).status).toBe(200);
  expect(simulator.counts()).toMatchObject({ apiRequests: 2, accepted: 2 });
  expect(forward.targets().filter((target) => target === places.api)).toHaveLength(2);
});

/** 502 not_sent, after one reconnect; nothing reached the service. */
async function expectNoTunnel(
  { url, simulator, recorder }: StageOf<"egress">,
  result: unknown,
  cause: RegExp,
  detail = /: the proxy/,
): Promise<void> {
  const answer = await call(url, order, signed);
  expectFailure(answer, { status: 502, code: "upstream_unreachable", detail, reference });
  const end = await recorder.nth("request_finished", 1);
  expect(end).toMatchObject({ outcome: "not_sent", stage: "send", attempts: 1, cause: expect.stringMatching(cause) });
  const tunnels = recorder.of("tunnel_requested").filter(({ destination }) => destination === places.api);
  expect(tunnels.map((tunnel) => tunnel.result)).toEqual([result, result]);
  for (const tunnel of tunnels) expect(tunnel.cause).toMatch(cause);
  expect(simulator.counts()).toMatchObject({ apiConnections: 0, apiRequests: 0, tokenRequests: 0 });
}

type OnConnect = (socket: Socket) => boolean;

function says(bytes: string): OnConnect {
  return (socket) => {
    socket.end(bytes, "latin1");
    return true;
  };
}

function resets(socket: Socket) {
  socket.resetAndDestroy();
  return true;
}

function dribbles(socket: Socket) {
  const timer = setInterval(() => socket.write("H"), 1_000);
  socket.write("HTTP/1.1 200 OK\r\nA: ");
  socket.on("close", () => clearInterval(timer));
  return true;
}
