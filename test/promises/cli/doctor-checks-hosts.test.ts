import { createServer, type TlsOptions } from "node:tls";
import { describe, expect, it } from "vitest";
import {
  authority,
  clientCertificate,
  clientKey,
  expiredCertificate,
  foreignCertificate,
  serverCertificate,
  serverKey,
} from "../../../testkit/certificates.ts";
import { type ForwardProxyOptions, startForwardProxy } from "../../../testkit/forward-proxy.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { listen } from "../../../testkit/listen.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { places, serviceCertificate, serviceName } from "../../../testkit/stage/egress.ts";
import { certificate } from "../../simulator/certificate.ts";
import { type Diagnosis, diagnose, openFolder } from "./doctor-runs.ts";

// What the doctor reports about names, connections and clocks: each fault at a host of its own, all of them in one run,
// since environments are checked in parallel. The hosts are real: TLS with real certificates, and sockets with fixed answers.

const dateIn = (ms: number) => () => `Date: ${new Date(Date.now() + ms).toUTCString()}\r\n`;

let keys = 0;

const trusting = "tls: { caFile: DIR/ca }";
const known = "tls: { caFile: DIR/ca, certFile: DIR/client.pem, keyFile: DIR/client-key.pem }";
const serving = { key: serverKey, cert: serverCertificate };

it("reports what is wrong with a certificate or a protocol, and sends such a host nothing", async () => {
  const asking = { ...serving, ca: authority, requestCert: true, rejectUnauthorized: true };
  const old = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
  const hosts = {
    expired: await startTlsHost({ ...serving, cert: expiredCertificate }),
    foreign: await startTlsHost({ ...serving, cert: foreignCertificate }),
    unknown: await startTlsHost(serving),
    own: await startTlsHost(certificate),
    old: await startTlsHost({ ...serving, ...old }),
    asking: await startTlsHost(asking),
    known: await startTlsHost(asking),
  };
  const plain = await startRawUpstream({ receive: (_, socket) => void socket.end(rawAnswer(400)) });
  const closing = await startRawUpstream({ accept: (socket) => void socket.destroy() });
  const silent = await startRawUpstream();
  const { hasFailed, of } = await diagnoseAll({
    expired: environmentAt(hosts.expired.url, trusting),
    foreign: environmentAt(hosts.foreign.url, trusting),
    unknown: environmentAt(hosts.unknown.url),
    own: environmentAt(hosts.own.url, trusting),
    old: environmentAt(hosts.old.url, trusting),
    asking: environmentAt(hosts.asking.url, trusting),
    known: environmentAt(hosts.known.url, known),
    plain: environmentAt(`https://127.0.0.1:${plain.port}`),
    closing: environmentAt(`https://127.0.0.1:${closing.port}`),
    silent: environmentAt(`https://127.0.0.1:${silent.port}`),
  });
  expect(hasFailed).toBe(true);
  expectLines(of, "tls", {
    expired: /^fail its certificate has expired \d+ days ago \(CERT_HAS_EXPIRED\) \| its owner has to/,
    foreign:
      /^fail .* not for this name but for elsewhere\.example \(ERR_TLS_CERT_ALTNAME_INVALID\) \| .*\.foreign\.baseUrl/,
    unknown:
      /^fail .* unknown issuer: Countersign test CA \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\) \| .*\.unknown\.tls\.caFile/,
    own: /^fail its certificate is by an unknown issuer: localhost \(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
    old: /^fail it speaks no TLS from 1\.2 on \(ERR_SSL_\w+\) \| its owner has to turn on TLS 1\.2/,
    asking: /^fail it does not accept our client certificate, or wants one \(ERR_SSL_\w+\) \| give/,
    known: /^ok TLSv1\.3, certificate of localhost by Countersign test CA, valid for another \d+ days/,
    plain: /^fail it does not speak TLS \(\w+\) \| give the port of its TLS in environments\.plain/,
    closing: /^fail the connection is closed as soon as it is made \(ECONNRESET\) \| see what/,
    silent: /^fail it took the connection, and no TLS came within 2000 ms \(TLS_TIMEOUT\) \| see that/,
  });
  for (const [name, { url, said }] of Object.entries(hosts)) {
    const head = `HEAD / HTTP/1.1\r\nhost: ${new URL(url).host}\r\nuser-agent: countersign-doctor/`;
    expect(said().slice(0, head.length), name).toBe(name === "known" ? head : "");
  }
});

it("distinguishes names that do not exist, hosts that refuse, and hosts that do not answer", async () => {
  const mute = await startRawUpstream();
  const { hasFailed, of } = await diagnoseAll({
    nameless: environmentAt("https://api.countersign.invalid"),
    refusing: environmentAt(`https://127.0.0.1:${await freePort()}`),
    mute: environmentAt(`${mute.url}/json-api`),
  });
  expect(hasFailed).toBe(true);
  const linesOf = (name: string) => (["dns", "tls", "http", "clock"] as const).flatMap((topic) => of(topic, name));
  expect(linesOf("nameless")).toEqual([
    // On a machine without DNS, it is unknown whether the name exists.
    expect.stringMatching(
      /^fail api\.countersign\.invalid: .*(\(ENOTFOUND\) \| .*environments\.nameless\.baseUrl|\(EAI_AGAIN\) \| correct the name in environments\.nameless\.baseUrl, or .*port 53)/,
    ),
    "skipped api.countersign.invalid:443: its address is not known, so TLS, HTTP and clock are not checked",
  ]);
  expect(linesOf("refusing")).toEqual([
    expect.stringMatching(/^fail \S+: connections are refused \(ECONNREFUSED\) \| .* environments\.refusing\.baseUrl/),
    expect.stringMatching(/^skipped \S+: there is no connection, so HTTP and clock are not checked$/),
  ]);
  expect(linesOf("mute")).toEqual([
    expect.stringMatching(/^warn \S+: connected, without TLS \(allowPlaintext\).* \| write https:\/\/ in/),
    expect.stringMatching(/^fail \S+: it takes connections, and does not answer \(ETIMEDOUT\) \| see how busy it is/),
  ]);
});

it("fails for a service that closes the connection, speaks no HTTP or answers 503", async () => {
  const answering = async (text: string) =>
    environmentAt((await startRawUpstream({ answer: (_, socket) => void socket.end(text) })).url);
  const { hasFailed, of } = await diagnoseAll({
    closing: await answering(""),
    foreign: await answering("220 mail.example ESMTP\r\n"),
    failing: await answering(rawAnswer(503, "")),
    headless: await answering(rawAnswer(501, "")),
    sound: await answering(rawAnswer(404, "")),
  });
  expect(hasFailed).toBe(true);
  expectLines(of, "http", {
    closing: /^fail it closes the connection without an answer \(ECONNRESET\) \| see its log/,
    foreign: /^fail what it answers is no HTTP\/1\.1 \(HPE_\w+\) \| .*baseUrl/,
    failing: /^fail it answers 503 to HEAD \/: it fails, or a gateway in front of it \| see the state/,
    headless: /^ok it answers HEAD \/ \(501\)$/,
    sound: /^ok it answers HEAD \/ \(404\)$/,
  });
});

it("compares our clock with the Date of each host", async () => {
  const { hasFailed, of } = await diagnoseAll({
    exact: environmentAt(await startDatedHost(dateIn(0))),
    behind: environmentAt(await startDatedHost(dateIn(600_000))),
    dateless: environmentAt(await startDatedHost(() => "")),
    malformed: environmentAt(await startDatedHost(() => "Date: 5\r\n")),
  });
  expect(hasFailed).toBe(true);
  expectLines(of, "clock", {
    exact: /^ok our clock agrees with its Date$/,
    behind:
      /^fail our clock is (9|10) min behind its Date: it may refuse our timestamps \| set this node's clock \(NTP, chrony\)/,
    dateless: /^skipped its answer \(200\) has no Date to compare with$/,
    malformed: /^skipped its answer \(200\) has no Date to compare with$/,
  });
});

/** The proxy, the tunnel and the service behind it are distinguished. */
describe("behind a proxy", () => {
  const { api } = places;
  const cutOff = `skipped ${api}: the proxy cannot be reached, so TLS, HTTP and clock are not checked`;

  /** Examines a service through this proxy; only the proxy can resolve the service's name. */
  async function diagnoseThrough(egress: string, more = trusting) {
    const sandbox = environmentAt(`https://${api}`, `${more}, egress: { ${egress} }`);
    const { of, hasFailed } = await diagnoseAll({ sandbox });
    return { of: (topic: string) => of(topic, "sandbox"), hasFailed };
  }

  async function startBoth(options: ForwardProxyOptions = {}) {
    const service = await startTlsHost(serviceCertificate);
    return { service, forward: await startForwardProxy({ hosts: { [api]: new URL(service.url).port }, ...options }) };
  }

  it("reports a proxy, a tunnel and TLS with the service behind it; the proxy looks the name up", async () => {
    const { service, forward } = await startBoth();
    const { of, hasFailed } = await diagnoseThrough(`proxy: "${forward.url}"`);
    expect(of("egress")).toEqual([`ok ${forward.place}: takes connections`]);
    expect(of("dns")).toEqual([`skipped ${serviceName}: the proxy looks it up`]);
    expect(of("tls")).toEqual([
      expect.stringMatching(new RegExp(`^ok ${api}: through ${forward.place}: TLSv1\\.3, certificate of `)),
    ]);
    expect(of("clock")).toEqual([`ok ${api}: our clock agrees with its Date`]);
    expect(service.said()).toMatch(/^HEAD \/ HTTP\/1\.1\r\n/);
    expect(forward.targets()).toEqual([api]);
    expect(hasFailed).toBe(false);
  });

  it("reports a proxy over TLS", async () => {
    const { forward } = await startBoth({ tls: serving });
    const good = await diagnoseThrough(`proxy: "${forward.url}", ${trusting}`);
    expect(good.of("egress")[1]).toMatch(
      /^ok localhost:\d+: TLSv1\.3, certificate of localhost by Countersign test CA/,
    );
    expect(good.of("tls")[0]).toMatch(/: TLSv1\.3, certificate of elsewhere\.example by Countersign test CA/);
    const bad = await diagnoseThrough(`proxy: "${forward.url}"`);
    expect(bad.of("egress")[1]).toMatch(
      /^fail localhost:\d+: .* unknown issuer.*environments\.sandbox\.egress\.tls\.caFile/,
    );
    expect(bad.of("tls")).toEqual([cutOff]);
    expect(bad.hasFailed).toBe(true);
  });

  it("reports a proxy that does not run", async () => {
    const { of } = await diagnoseThrough(`proxy: "http://127.0.0.1:${await freePort()}"`);
    expect(of("egress")[0]).toMatch(/^fail 127\.0\.0\.1:\d+: connections are refused .*environments\.sandbox\.egress/);
    expect(["dns", "tls", "http", "clock"].flatMap(of)).toEqual([
      `skipped ${serviceName}: the proxy looks it up`,
      cutOff,
    ]);
  });

  const answering = (bytes: string): ForwardProxyOptions => ({
    onConnect(socket) {
      socket.end(bytes);
      return true;
    },
  });
  it.each<[string, ForwardProxyOptions, string | RegExp, more?: string]>([
    [
      "demands other credentials",
      { credentials: "user:canary-proxy-password" },
      `fail ${api}: the proxy wants other credentials (PROXY_STATUS_407) | put user:password into the file of environments.sandbox.egress.auth; HTTP Basic is what is sent`,
    ],
    [
      "does not reach the service",
      { hosts: {} },
      `fail ${api}: the proxy does not reach ${api} (PROXY_STATUS_502) | see the proxy's log: its DNS and its firewall decide; correct the name in environments.sandbox.baseUrl`,
    ],
    [
      "forbids the tunnel",
      answering("HTTP/1.1 403 No\r\n\r\n"),
      /lets no connection to elsewhere\.example:443 through \(PROXY_STATUS_403\) \| have CONNECT/,
    ],
    [
      "is no HTTP proxy",
      answering("SSH-2.0-x\r\n"),
      /opens no tunnel \(PROXY_NOT_HTTP_1_1\) \| see that environments\.sandbox\.egress names an HTTP proxy/,
    ],
    ["intercepts TLS", {}, /by an unknown issuer.*otherwise something intercepts the connection/, "via: true"],
  ])("says what to do about a proxy that %s", async (_, options, says, more = trusting) => {
    const { forward } = await startBoth(options);
    const { of } = await diagnoseThrough(`proxy: "${forward.url}"`, more);
    expect(of("egress")[0]).toMatch(/^ok /);
    expect(of("tls")).toEqual([typeof says === "string" ? says : expect.stringMatching(says)]);
  });

  it("looks up the name of a host that noProxy names", async () => {
    const { forward } = await startBoth();
    const { of } = await diagnoseThrough(`proxy: "${forward.url}", noProxy: [${serviceName}]`);
    expect(of("dns")[0]).toMatch(/^fail elsewhere\.example: /);
    expect(forward.heads).toEqual([]);
  });
});

/** A TLS host; `said` returns all that it was sent after handshakes. */
async function startTlsHost(options: TlsOptions) {
  let said = "";
  const server = createServer(options, (socket) => {
    socket
      .on("error", () => {})
      .on("data", (chunk) => {
        said += chunk;
        socket.end(rawAnswer(404, "", `Date: ${new Date().toUTCString()}\r\n`));
      });
  });
  const port = await listen(server.on("tlsClientError", () => {}));
  return { url: `https://localhost:${port}`, said: () => said };
}

/** A host whose answers have this Date line. */
async function startDatedHost(date: () => string): Promise<string> {
  const { url } = await startRawUpstream({ answer: (_, socket) => void socket.end(rawAnswer(200, "", date())) });
  return url;
}

/** An environment that signs, so that only its service is checked; no two environments have anything in common. */
function environmentAt(baseUrl: string, more = ""): string {
  keys += 1;
  const sites = `sites: { S${keys}: { keys: [ { identifier: K${keys}, secret: { file: DIR/own/${keys} } } ] } }`;
  return `baseUrl: "${baseUrl}", authUrl: "https://login-${keys}.invalid", allowPlaintext: true, ${sites}, ${more}`;
}

async function diagnoseAll(environments: Readonly<Record<string, string>>) {
  const { folder, write } = await openFolder({
    ca: authority,
    "client.pem": clientCertificate,
    "client-key.pem": clientKey,
  });
  for (let number = 1; number <= keys; number += 1) folder.write(`own/${number}`, `canary-own-secret-${number}`);
  return diagnose(write({ environments }));
}

/** Compares the first line on a topic of each environment, without its host. */
function expectLines(of: Diagnosis["of"], topic: string, lines: Readonly<Record<string, RegExp>>) {
  for (const [name, line] of Object.entries(lines)) {
    expect(of(topic, name)[0]?.replace(/^(\w+) \S+: /, "$1 "), name).toMatch(line);
  }
}
