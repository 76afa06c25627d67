import { expect, it } from "vitest";
import {
  authority,
  expiredCertificate,
  foreignCertificate,
  serverCertificate,
  serverKey,
} from "../../../testkit/certificates.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { certificate } from "../../simulator/certificate.ts";
import { dateIn, diagnoseAll, environmentAt, startDatedHost, startTlsHost } from "./doctor-hosts.ts";
import type { Diagnosis } from "./doctor-run.ts";

// What the doctor reports about names, connections and clocks: each fault at a host of its own, all of them in one run,
// since environments are checked in parallel. The hosts are real: TLS with real certificates, and sockets with set answers.

const trusting = "tls: { caFile: DIR/ca }";
const known = "tls: { caFile: DIR/ca, certFile: DIR/client.pem, keyFile: DIR/client-key.pem }";
const serving = { key: serverKey, cert: serverCertificate };

/** The first line of each environment on a topic, without the host. */
function expectLines(
  of: Diagnosis["of"],
  topic: Parameters<Diagnosis["of"]>[0],
  lines: Readonly<Record<string, RegExp>>,
) {
  for (const [name, line] of Object.entries(lines)) {
    expect(of(topic, name)[0]?.replace(/^(\w+) \S+: /, "$1 "), name).toMatch(line);
  }
}

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
      /^fail .* not for localhost but for elsewhere\.example \(ERR_TLS_CERT_ALTNAME_INVALID\) \| .*\.foreign\.baseUrl/,
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
    // Where there is no DNS at all, it is unknown whether the name exists.
    expect.stringMatching(
      /^fail api\.countersign\.invalid: .*(\(ENOTFOUND\) \| .*environments\.nameless\.baseUrl|\(EAI_AGAIN\) \| .*port 53)/,
    ),
    "skipped api.countersign.invalid:443: its address is not known",
    "skipped api.countersign.invalid:443: its address is not known",
    "skipped api.countersign.invalid:443: its address is not known",
  ]);
  expect(linesOf("refusing")).toEqual([
    "ok 127.0.0.1: an address, so there is nothing to look up",
    expect.stringMatching(/^fail \S+: connections are refused \(ECONNREFUSED\) \| .* environments\.refusing\.baseUrl/),
    expect.stringMatching(/^skipped \S+: there is no connection$/),
    expect.stringMatching(/^skipped \S+: there is no Date to compare with$/),
  ]);
  expect(linesOf("mute").slice(1)).toEqual([
    expect.stringMatching(/^warn \S+: connected, without TLS \(allowPlaintext\).* \| write https:\/\/ in/),
    expect.stringMatching(/^fail \S+: it takes connections, and does not answer \(ETIMEDOUT\) \| see how busy it is/),
    expect.stringMatching(/^skipped \S+: there is no Date to compare with$/),
  ]);
});

it("does not accept a service that closes, speaks no HTTP or fails", async () => {
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
    failing: /^fail it answers 503 to HEAD \/: it fails, or what stands before it \| see the state/,
    headless: /^ok it answers HEAD \/ \(501\)$/,
    sound: /^ok it answers HEAD \/ \(404\)$/,
  });
});

it("compares our clock with the Date of each host", async () => {
  const { hasFailed, of } = await diagnoseAll({
    exact: environmentAt(await startDatedHost(dateIn(0))),
    near: environmentAt(await startDatedHost(dateIn(4_500))),
    ahead: environmentAt(await startDatedHost(dateIn(-20_000))),
    behind: environmentAt(await startDatedHost(dateIn(600_000))),
    dateless: environmentAt(await startDatedHost(() => "")),
    malformed: environmentAt(await startDatedHost(() => "Date: 5\r\n")),
  });
  expect(hasFailed).toBe(true);
  expectLines(of, "clock", {
    exact: /^ok our clock agrees with its Date$/,
    near: /^ok our clock is [34] s behind its Date$/,
    ahead: /^warn our clock is (19|2\d) s ahead of its Date \| set this node's clock \(NTP, chrony\)/,
    behind: /^fail our clock is (9|10) min behind its Date: it may refuse our timestamps \| set this/,
    dateless: /^skipped its answer \(200\) has no Date to compare with$/,
    malformed: /^skipped its answer \(200\) has no Date to compare with$/,
  });
});
