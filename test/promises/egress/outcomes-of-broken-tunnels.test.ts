/** Row 78: what breaks before a byte of the request is `not_sent`, what breaks afterwards is `unknown`. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { noTls, serverTls } from "../../../testkit/certificates.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { RawConnection, rawPost } from "../../../testkit/raw-caller.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite } from "../../../testkit/stage.ts";
import { certificate } from "../../simulator/certificate.ts";
import { places, serviceCertificate, stageEgress } from "./stage.ts";

const signed = { headers: { "Countersign-Site": hmacSite, "Countersign-Reference": "A-1042" } };
const reference = "A-1042";

async function expectUnreachable(url: string, detail: RegExp): Promise<void> {
  const failure = { status: 502, code: "upstream_unreachable", detail, reference } as const;
  expectFailure(await call(url, order, signed), failure);
}

describe("not_sent: before the first byte of the request", () => {
  it("the proxy closes the tunnel that it has just opened", async () => {
    const { url, simulator, forward } = await stageEgress({
      proxy: { onTunnel: (client) => void client.end("HTTP/1.1 200 OK\r\n\r\n"), established: "" },
    });
    await expectUnreachable(url, /closed the connection while it was being set up \(ECONNRESET\)/);
    expect(forward.targets().filter((target) => target === places.api)).toHaveLength(2);
    expect(simulator.counts()).toMatchObject({ apiRequests: 0 });
  });

  it("something else than TLS comes through the tunnel", async () => {
    const { url, forward } = await stageEgress();
    const { port } = await startRawUpstream({ receive: (_, socket) => void socket.end("<html>blocked</html>") });
    forward.hosts = { ...forward.hosts, [places.api]: port };
    await expectUnreachable(url, /TLS certificate or protocol/);
  });

  it.each([true, false])("the proxy sends an answer of its own behind the tunnel's, http: %s", async (plain) => {
    const established = `HTTP/1.1 200 OK\r\n\r\n${rawAnswer(200, '{"forged":true}')}`;
    const { url, simulator, forward } = await stageEgress({ plain, proxy: { established } });
    await expectUnreachable(url, /PROXY_BYTES_BEHIND_HEAD/);
    expect(forward.targets().filter((target) => target === places.api)).toHaveLength(2);
    expect(simulator.counts().apiRequests).toBe(0);
  });

  it("nothing answers the TLS handshake: the service is to blame, not the proxy", async () => {
    const { port } = await startRawUpstream();
    const { url, forward, recorder } = await stageEgress({ timeouts: { requestMs: 15_000, connectMs: 300 } });
    forward.hosts = { ...forward.hosts, [places.api]: port };
    await expectUnreachable(url, /service did not accept a connection in time \(CONNECT_TIMEOUT\)/);
    const tunnels = recorder.of("tunnel_requested").filter(({ destination }) => destination === places.api);
    expect(tunnels.map(({ result }) => result)).toEqual(["opened", "opened"]);
  });

  it.each([
    ["a certificate of its own", certificate, /DEPTH_ZERO_SELF_SIGNED_CERT/],
    ["another name's certificate by our authority", serverTls, /ERR_TLS_CERT_ALTNAME_INVALID/],
  ])("the proxy intercepts, with %s", async (_, own, detail) => {
    const interceptor = await startRawUpstream({ tls: own, answer: rawAnswer(200, "{}") });
    const { url, forward, simulator } = await stageEgress();
    forward.hosts = { [places.api]: interceptor.port, [places.login]: interceptor.port };
    await expectUnreachable(url, detail);
    expectFailure(await call(url), { status: 503, code: "token_unavailable" });
    expect(interceptor.spoken).toBe(0);
    expect(simulator.counts()).toMatchObject({ apiRequests: 0 });
  });

  it("trust in the proxy is no trust in the service, nor the other way round", async () => {
    const { url, forward } = await stageEgress({ proxy: { tls: serverTls }, environment: { tls: noTls } });
    await expectUnreachable(url, /service's TLS certificate .* \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\)/);
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
    const { url, forward } = await stageEgress({
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

  it.each([true, false])("the tunnel is reset in an answer that only the close ends, http: %s", async (plain) => {
    let tunnel: Socket | undefined;
    const { port, simulator } = await stageEgress({
      plain,
      proxy: {
        onTunnel: (client, host) => {
          if (String(host.remotePort) === new URL(simulator.apiUrl).port) tunnel = client;
        },
      },
    });
    simulator.faults.add({ host: "api", kind: "raw", bytes: 'HTTP/1.1 200 OK\r\n\r\n{"part":', close: false });
    const caller = await RawConnection.open(port);
    const failed = once(caller.socket, "error");
    caller.write(rawPost({ more: [`Countersign-Site: ${hmacSite}`] }));
    await caller.until(/"part":/);
    tunnel?.resetAndDestroy();
    expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
    expect(simulator.counts().apiRequests).toBe(1);
  });

  it("an answer that only the close ends is whole where the close is orderly, without TLS", async () => {
    const { url, simulator } = await stageEgress({ plain: true });
    simulator.faults.add({ host: "api", kind: "raw", bytes: 'HTTP/1.1 200 OK\r\n\r\n{"whole":true}', close: true });
    expect((await call(url, order, signed)).text).toBe('{"whole":true}');
  });

  it("an answer that only the close ends has no proved end with TLS", async () => {
    const { url, simulator, recorder } = await stageEgress({ plain: false });
    simulator.faults.add({ host: "api", kind: "raw", bytes: 'HTTP/1.1 200 OK\r\n\r\n{"whole":true}', close: true });
    await call(url, order, signed).catch(() => {});
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ outcome: "unknown", cause: "UNFRAMED_OVER_TLS" });
  });
});

it("a tunnel that broke while it was idle costs no request", async () => {
  const clients: Socket[] = [];
  const { url, simulator, forward } = await stageEgress({ proxy: { onTunnel: (client) => void clients.push(client) } });
  expect((await call(url)).status).toBe(200);
  for (const client of clients) client.resetAndDestroy();
  expect((await call(url)).status).toBe(200);
  expect(simulator.counts()).toMatchObject({ apiRequests: 2, accepted: 2 });
  expect(forward.targets().filter((target) => target === places.api)).toHaveLength(2);
});

it("the proxy of these tests does connect", async () => {
  const { forward } = await stageEgress({ plain: true });
  const socket = connect(Number(new URL(forward.url).port), "127.0.0.1");
  socket.write(`CONNECT ${places.api} HTTP/1.1\r\n\r\n`);
  const [head] = await once(socket, "data");
  expect(String(head)).toMatch(/^HTTP\/1\.1 200 /);
  socket.destroy();
});
