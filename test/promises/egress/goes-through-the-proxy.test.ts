/** Every connection of an environment goes through its proxy, and the service gets the same requests as without a proxy. */
import { describe, expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { serverTls } from "../../../testkit/certificates.ts";
import { credentials, password, places, serviceName } from "../../../testkit/stage/egress.ts";
import { hmacSite, stage } from "../../../testkit/stage.ts";

const toTls = { tls: serverTls };

describe.each([
  ["a proxy by http, a service by https", {}, false],
  ["a proxy by http, a service by http", {}, true],
  ["a proxy by https, a service by https", toTls, false],
  ["a proxy by https, a service by http", toTls, true],
] as const)("%s", (_, proxy, plain) => {
  it("orders and token requests go through one tunnel each, which is kept", async () => {
    const { url, simulator, forward, recorder } = await stage("egress", { proxy, plain, oneSet: true });
    for (let count = 0; count < 3; count += 1) expect((await call(url)).status).toBe(200);
    expect(forward.targets().toSorted()).toEqual([places.api, places.login]);
    expect(forward).toMatchObject({ heads: { length: 2 } });
    expect([forward.connections(), forward.tunnels()]).toEqual([2, 2]);
    expect(simulator.counts()).toMatchObject({ accepted: 3, apiConnections: 1, tokenRequests: 1 });
    const tunnels = recorder.of("tunnel_requested");
    expect(tunnels.map(({ result, cause, isFirst }) => [result, cause, isFirst])).toEqual(
      Array(2).fill(["opened", undefined, false]),
    );
    expect(tunnels.map(({ destination }) => destination).toSorted()).toEqual([places.api, places.login]);
    expect(tunnels[0]).toMatchObject({ environment: "sandbox", proxy: forward.place });
  });

  it("a long answer comes whole, at the pace of its reader", async () => {
    const { url, simulator } = await stage("egress", { proxy, plain });
    const body = JSON.stringify({ text: "x".repeat(3_000_000) });
    simulator.faults.add({ host: "api", kind: "answer", status: 200, body });
    expect((await call(url)).text).toBe(body);
    expect((await call(url)).status).toBe(200);
    expect(simulator.counts()).toMatchObject({ apiRequests: 2, apiConnections: 1 });
  });
});

it("a request for a tunnel has the destination, the proxy's credentials, and nothing else", async () => {
  const { url, forward } = await stage("egress", { proxy: { credentials: password }, egress: { credentials } });
  expect((await call(url, order, { headers: { "Countersign-Site": hmacSite } })).status).toBe(200);
  const basic = Buffer.from(password).toString("base64");
  expect(forward.heads.find((head) => head.includes(places.api))).toBe(
    `CONNECT ${places.api} HTTP/1.1\r\nHost: ${places.api}\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`,
  );
});

it("a request for a tunnel to an IPv6 address has the address in brackets, with its port", async () => {
  const baseUrl = "http://[2001:db8::1]/json-api";
  const { url, forward, simulator } = await stage("egress", { plain: true, baseUrl });
  forward.hosts = { ...forward.hosts, "[2001:db8::1]:80": new URL(simulator.apiUrl).port };
  expect((await call(url, order, { headers: { "Countersign-Site": hmacSite } })).status).toBe(200);
  expect(forward.heads.at(-1)).toBe("CONNECT [2001:db8::1]:80 HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n");
});

it("the service sees neither the proxy's password nor the tunnel", async () => {
  const { url, simulator } = await stage("egress", { proxy: { credentials: password }, egress: { credentials } });
  expect((await call(url)).status).toBe(200);
  const seen = JSON.stringify([...simulator.seen.apiRequests, ...simulator.seen.tokenRequests]);
  expect(seen).not.toMatch(/proxy-/i);
  expect(seen).toContain(serviceName);
});

it("a host that is reached directly needs no connection to the proxy", async () => {
  const { url, forward, simulator } = await stage("egress", { plain: true });
  expect((await call(url)).status).toBe(200);
  const before = forward.connections();
  const direct = await stage("egress", {
    plain: true,
    baseUrl: simulator.apiUrl,
    egress: { direct: new Set([new URL(simulator.apiUrl).origin]) },
  });
  expect((await call(direct.url, order, { headers: { "Countersign-Site": hmacSite } })).status).toBe(200);
  expect(direct.forward.targets()).not.toContain(places.api);
  expect(forward.connections()).toBe(before);
});

it.each([
  ["HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\n"],
  ["another 2xx", "HTTP/1.1 204 Fine\r\n\r\n"],
  [
    "a length and a coding, which have no meaning here",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
  ],
  ["a malformed length", "HTTP/1.1 200 OK\r\nContent-Length: five\r\nContent-Length: 6\r\n\r\n"],
  [
    "a 200 after interim responses",
    "HTTP/1.1 102 Wait\r\n\r\nHTTP/1.1 103 Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
  ],
  ["Connection: close", "HTTP/1.1 200 OK\r\nConnection: close\r\nProxy-Agent: x\r\n\r\n"],
])("a tunnel is opened by %s", async (_, established) => {
  const { url, simulator } = await stage("egress", { proxy: { established } });
  expect((await call(url)).status).toBe(200);
  expect((await call(url)).status).toBe(200);
  expect(simulator.counts()).toMatchObject({ accepted: 2, apiConnections: 1 });
});

it("a head that comes byte by byte opens the tunnel, as a whole one does", async () => {
  const { url, forward } = await stage("egress", {
    oneSet: true,
    proxy: {
      established: "",
      onTunnel(client) {
        for (const byte of "HTTP/1.1 200 OK\r\nVia: 1.1 x\r\n\r\n") client.write(byte);
      },
    },
  });
  expect((await call(url)).status).toBe(200);
  expect(forward.tunnels()).toBe(2);
});
