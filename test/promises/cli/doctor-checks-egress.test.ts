/** Row 78: doctor tells the proxy, the tunnel and the service behind it apart. */
import { expect, it } from "vitest";
import { serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { type ForwardProxy, startForwardProxy } from "../../../testkit/forward-proxy.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { places, serviceCertificate, serviceName } from "../egress/stage.ts";
import { diagnoseAll, environmentAt, startTlsHost } from "./doctor-hosts.ts";

const portOf = (url: string) => new URL(url).port;
const trusted = "tls: { caFile: DIR/ca }";

/** Through this proxy, a service that only it can resolve. */
async function diagnose(egress: string, more = trusted) {
  const { of, hasFailed } = await diagnoseAll({
    sandbox: environmentAt(`https://${places.api}`, `${more}, egress: { ${egress} }`),
  });
  return { of: (topic: Parameters<typeof of>[0]) => of(topic, "sandbox"), hasFailed };
}

async function startBoth(answers: Partial<ForwardProxy> = {}) {
  const service = await startTlsHost(serviceCertificate);
  const forward = await startForwardProxy({ hosts: { [places.api]: portOf(service.url) } });
  return { service, forward: Object.assign(forward, answers) };
}

it("a proxy, a tunnel and TLS with the service behind it; the name is the proxy's to look up", async () => {
  const { service, forward } = await startBoth();
  const { of, hasFailed } = await diagnose(`proxy: "${forward.url}"`);
  expect(of("egress")).toEqual([
    "ok 127.0.0.1: an address, so there is nothing to look up",
    `ok ${forward.place}: takes connections`,
  ]);
  expect(of("dns")).toEqual([`skipped ${serviceName}: the proxy looks it up`]);
  expect(of("tls")).toEqual([
    expect.stringMatching(new RegExp(`^ok ${places.api}: through ${forward.place}: TLSv1\\.3, certificate of `)),
  ]);
  expect(of("clock")).toEqual([`ok ${places.api}: our clock agrees with its Date`]);
  expect(service.said()).toMatch(/^HEAD \/ HTTP\/1\.1\r\n/);
  expect(forward.targets()).toEqual([places.api]);
  expect(hasFailed).toBe(false);
});

it("a proxy over TLS", async () => {
  const service = await startTlsHost(serviceCertificate);
  const tls = { cert: serverCertificate, key: serverKey };
  const forward = await startForwardProxy({ tls, hosts: { [places.api]: portOf(service.url) } });
  const good = await diagnose(`proxy: "${forward.url}", tls: { caFile: DIR/ca }`);
  expect(good.of("egress")[1]).toMatch(/^ok localhost:\d+: TLSv1\.3, certificate of localhost by Countersign test CA/);
  expect(good.of("tls")[0]).toMatch(/: TLSv1\.3, certificate of elsewhere\.example by Countersign test CA/);
  const bad = await diagnose(`proxy: "${forward.url}"`);
  expect(bad.of("egress")[1]).toMatch(
    /^fail localhost:\d+: .* unknown issuer.*environments\.sandbox\.egress\.tls\.caFile/,
  );
  expect(bad.of("tls")).toEqual([`skipped ${places.api}: the proxy cannot be reached`]);
  expect(bad.hasFailed).toBe(true);
});

it("a proxy that does not run", async () => {
  const { of } = await diagnose(`proxy: "http://127.0.0.1:${await freePort()}"`);
  expect(of("egress")[1]).toMatch(/^fail 127\.0\.0\.1:\d+: connections are refused .*environments\.sandbox\.egress/);
  expect(of("tls")).toEqual([`skipped ${places.api}: the proxy cannot be reached`]);
  expect(of("clock")).toEqual([`skipped ${places.api}: the proxy cannot be reached`]);
});

it.each([
  [
    "wants other credentials",
    { credentials: "user:canary-proxy-password" },
    "the proxy wants other credentials (PROXY_STATUS_407) | put user:password into the file of environments.sandbox.egress.auth; HTTP Basic is what is sent",
  ],
  [
    "does not reach the service",
    { hosts: {} },
    `the proxy does not reach ${places.api} (PROXY_STATUS_502) | see the proxy's log: its DNS and its firewall decide; correct the name in environments.sandbox.baseUrl`,
  ],
])("a proxy that %s", async (_, answers, text) => {
  const { forward } = await startBoth(answers);
  const { of } = await diagnose(`proxy: "${forward.url}"`);
  expect(of("egress")[1]).toMatch(/^ok /);
  expect(of("tls")).toEqual([`fail ${places.api}: ${text}`]);
});

it.each([
  [
    "HTTP/1.1 403 No\r\n\r\n",
    /lets no connection to elsewhere\.example:443 through \(PROXY_STATUS_403\) \| have CONNECT/,
  ],
  [
    "SSH-2.0-x\r\n",
    /opens no tunnel \(PROXY_NOT_HTTP_1_1\) \| see that environments\.sandbox\.egress names an HTTP proxy/,
  ],
])("a proxy that answers %j", async (bytes, text) => {
  const onConnect: NonNullable<Parameters<typeof startForwardProxy>[0]>["onConnect"] = (socket) => {
    socket.end(bytes);
    return true;
  };
  const forward = await startForwardProxy({ onConnect });
  const { of } = await diagnose(`proxy: "${forward.url}"`);
  expect(of("tls")[0]).toMatch(text);
});

it("a proxy that intercepts", async () => {
  const { forward } = await startBoth();
  const { of } = await diagnose(`proxy: "${forward.url}"`, "via: true");
  expect(of("tls")[0]).toMatch(/by an unknown issuer.*otherwise something intercepts the connection/);
});

it("a host that is reached directly is looked up as without a proxy", async () => {
  const { forward } = await startBoth();
  const { of } = await diagnose(`proxy: "${forward.url}", noProxy: [${serviceName}]`);
  expect(of("dns")[0]).toMatch(/^fail elsewhere\.example: /);
  expect(forward.heads).toEqual([]);
});
