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

// What the doctor reports about names, connections and clocks: each fault at a host of its own, all of them in one run,
// since environments are checked in parallel. The hosts are real: TLS with real certificates, and sockets with set answers.

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
  const lineOf = (name: string) => of("tls", name)[0]?.replace(/^(\w+) \S+: /, "$1 ");
  expect(lineOf("expired")).toMatch(
    /^fail its certificate has expired \d+ days ago \(CERT_HAS_EXPIRED\) \| its owner has to/,
  );
  expect(lineOf("foreign")).toBe(
    "fail its certificate is not for localhost but for elsewhere.example (ERR_TLS_CERT_ALTNAME_INVALID) | " +
      "write the name that it is for in environments.foreign.baseUrl, or have this name added to the certificate",
  );
  expect(lineOf("unknown")).toBe(
    "fail its certificate is by an unknown issuer: Countersign test CA (UNABLE_TO_VERIFY_LEAF_SIGNATURE) | " +
      "for a private authority give its certificate as environments.unknown.tls.caFile; otherwise something intercepts the connection",
  );
  expect(lineOf("own")).toMatch(
    /^fail its certificate is by an unknown issuer: localhost \(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
  );
  expect(lineOf("old")).toMatch(
    /^fail it speaks no TLS from 1\.2 on \(ERR_SSL_\w+\) \| its owner has to turn on TLS 1\.2/,
  );
  expect(lineOf("asking")).toMatch(
    /^fail it does not accept our client certificate, or wants one \(ERR_SSL_\w+\) \| give/,
  );
  expect(lineOf("known")).toMatch(
    /^ok TLSv1\.3, certificate of localhost by Countersign test CA, valid for another \d+ days/,
  );
  expect(lineOf("plain")).toMatch(
    /^fail it does not speak TLS \(\w+\) \| give the port of its TLS in environments\.plain/,
  );
  expect(lineOf("closing")).toMatch(/^fail the connection is closed as soon as it is made \(ECONNRESET\) \| see what/);
  expect(lineOf("silent")).toMatch(
    /^fail it took the connection, and no TLS came within 2000 ms \(TLS_TIMEOUT\) \| see that/,
  );
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
  const linesOf = (name: string) => (["dns", "tls", "clock"] as const).flatMap((topic) => of(topic, name));
  expect(linesOf("nameless")).toEqual([
    // Where there is no DNS at all, it is unknown whether the name exists.
    expect.stringMatching(
      /^fail api\.countersign\.invalid: .*(\(ENOTFOUND\) \| .*environments\.nameless\.baseUrl|\(EAI_AGAIN\) \| .*port 53)/,
    ),
    "skipped api.countersign.invalid:443: its address is not known",
    "skipped api.countersign.invalid:443: its address is not known",
  ]);
  expect(linesOf("refusing")).toEqual([
    "ok 127.0.0.1: an address, so there is nothing to look up",
    expect.stringMatching(/^fail \S+: connections are refused \(ECONNREFUSED\) \| .* environments\.refusing\.baseUrl/),
    expect.stringMatching(/^skipped \S+: HEAD \/ got no answer \(ECONNREFUSED\), so no Date/),
  ]);
  expect(linesOf("mute").slice(1)).toEqual([
    expect.stringMatching(/^warn \S+: connected, without TLS \(allowPlaintext\).* \| write https:\/\/ in/),
    expect.stringMatching(/^skipped \S+: HEAD \/ got no answer \(ETIMEDOUT\), so no Date/),
  ]);
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
  const lineOf = (name: string) => of("clock", name)[0]?.replace(/^(\w+) \S+: /, "$1 ");
  expect(lineOf("exact")).toBe("ok our clock agrees with its Date");
  expect(lineOf("near")).toMatch(/^ok our clock is [34] s behind its Date$/);
  expect(lineOf("ahead")).toMatch(
    /^warn our clock is (19|2\d) s ahead of its Date \| set this node's clock \(NTP, chrony\)/,
  );
  expect(lineOf("behind")).toMatch(
    /^fail our clock is (9|10) min behind its Date: it may refuse our timestamps \| set this/,
  );
  expect(lineOf("dateless")).toBe("skipped its answer (200) has no Date to compare with");
  expect(lineOf("malformed")).toBe("skipped its answer (200) has no Date to compare with");
});
