/** Callers, and the addresses on which ports may listen, are checked before any port opens. */

import { describe, expect, test } from "vitest";
import { located } from "../../../src/config/diagnostics.ts";
import { authority, clientKey, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { ConfigFolder, edited, production, sound } from "../../../testkit/config-folder.ts";
import { admin, at, fault, itRefuses, listener, withListener, withSecondListener, withStatus } from "./refusal.ts";

const loopback = '"127.0.0.1:7411"';
const mtls = ", mtls: { caFile: ca, certFile: cert, keyFile: key }";
const spiffe = "spiffe://prod.example/ns/pay/sa/payments";
const files = {
  ca: authority,
  cert: serverCertificate,
  key: serverKey,
  new: "canary-new-token-of-good-length\n",
  copy: "canary-client-secret-main\n",
};
const line = (callers: string, more = "", bind = loopback, environment = "sandbox") =>
  `  - { bind: ${bind}, environment: ${environment}${more}, callers: ${callers} }\n`;
const listening = (lines: string) => edited([listener, lines]);
const byToken = "token: { file: DIR/main }";
const byName = `certificate: "${spiffe}"`;

describe("callers with names", () => {
  test("have one token or several, and by default all sites and all operations", async () => {
    const written = `{ payments: { ${byToken} }, reports: { token: [ { file: DIR/new }, { env: OLD } ] } }`;
    const { first, warnings } = await load(listening(line(written)));
    const anything = { certificates: [], sites: "any", operations: "any", requestsPerSecond: undefined };
    expect(
      first?.callers.map(({ tokens, ...caller }) => ({ ...caller, tokens: tokens.map((token) => token.reveal()) })),
    ).toEqual([
      { ...anything, name: "payments", tokens: ["canary-client-secret-main"] },
      { ...anything, name: "reports", tokens: ["canary-new-token-of-good-length", "canary-old-token-of-good-length"] },
    ]);
    expect(first?.tls).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  test("have the rights that are written", async () => {
    const rights = "sites: [S1000000003, S1000000001], operations: [create_order], requestsPerSecond: 0.5";
    const { first } = await load(listening(line(`{ payments: { ${byToken}, ${rights} } }`)));
    expect(first?.callers).toMatchObject([
      { sites: new Set(["S1000000003", "S1000000001"]), operations: new Set(["create_order"]), requestsPerSecond: 0.5 },
    ]);
  });

  test("have names of certificates, each kept with its kind", async () => {
    const names = `["${spiffe}", Payments.Example, "urn:uuid:1"]`;
    const { first, warnings } = await load(listening(line(`{ payments: { certificate: ${names} } }`, mtls, '":7411"')));
    expect(first?.callers[0]?.certificates).toEqual([`URI:${spiffe}`, "DNS:payments.example", "URI:urn:uuid:1"]);
    expect(first?.tls).toMatchObject({ ca: authority, cert: serverCertificate });
    expect(warnings).toEqual([]);
  });

  test("may be the same at two listeners of an environment", async () => {
    const callers = `{ payments: { ${byToken}, requestsPerSecond: 5 } }`;
    const { warnings } = await load(listening(`${line(callers)}${line(callers, "", '"[::1]:7411"')}`));
    expect(warnings).toEqual([]);
  });

  test("may have a certificate that has another caller name in another environment", async () => {
    const both = `${line(`{ payments: { ${byName} } }`, mtls)}${line(`{ tests: { ${byName} } }`, mtls, '":7414"', "production")}`;
    expect((await load(`${listening(both)}${production}`)).warnings).toEqual([]);
  });

  test("in an environment called constructor, which is not configured, are refused for that alone", async () => {
    const yaml = listening(line(`{ payments: { ${byToken}, sites: [S1] } }`, "", loopback, "constructor"));
    const problems = await new ConfigFolder().problemsOf(yaml);
    expect(problems.map(({ path }) => path)).toEqual(["listeners[0].environment"]);
  });

  test("are warned about if their tokens cross a network", async () => {
    const { warnings } = await load(listening(line(`{ payments: { ${byToken} } }`, "", '":7411"')));
    expect(warnings).toEqual(["listeners[0].callers: callers_in_plain_text"]);
    for (const bind of [loopback, '"[::1]:7411"', '"unix:/run/a.sock"']) {
      expect((await load(listening(line(`{ payments: { ${byToken} } }`, "", bind)))).warnings).toEqual([]);
    }
  });
});

/** A listener whose fault is in the last line. */
const here = (lines: string) => listening(`${lines.trimEnd()} # here\n`);
const ofAll = "listeners[0].callers";
const payments = `${ofAll}.payments`;
const token = `${payments}.token`;
const ofPayments = (settings: string) => `{ payments: { ${settings} } }`;
const refusal = (callers: string, said: string, more = "", changed: Partial<typeof files> = {}) =>
  fault(here(line(callers, more)), said, { ...files, ...changed });
const withToken = (written: string, said: string) => refusal(ofPayments(`token: ${written}`), `${token}: ${said}`);
const withRight = (written: string, said: string) =>
  refusal(ofPayments(`${byToken}, ${written}`), `${payments}.${said}`);
const withName = (name: string, said: string) =>
  refusal(ofPayments(`certificate: "${name}"`), `${payments}.certificate: ${said} … write`, mtls);
/** A refusal of this content of the token's file. */
const holding = (main: string, said: string) => fault(here(line(ofPayments(byToken))), `${token}: ${said}`, { main });

const misspelt = "{ payments: { tokn: 1, sitez: 2 }, b: { rate: 3 } }";

itRefuses("callers that are not known well enough", [
  refusal("{}", `${ofAll}: there is no caller … add one`),
  refusal(ofPayments("sites: [S1000000001]"), `${payments}: nothing proves … add token`),
  refusal(ofPayments("sites: [S1000000001]"), `${payments}: nothing proves … certificate`, mtls),
  refusal(ofPayments(byToken), `${token}: with a certificate … certificate`, mtls),
  refusal(ofPayments(byName), `${payments}.certificate: nothing asks … add mtls`),
  refusal("anyone", "listeners[0].mtls: callers that have names … NAME", mtls),
  refusal("{ tokens: [ { file: DIR/main } ] }", `${ofAll}.tokens: must be a mapping`),
  refusal(ofPayments(byName), "listeners[0].mtls.keyFile: missing", ", mtls: { caFile: ca, certFile: cert }"),
  refusal(ofPayments(byName), "listeners[0].mtls.caFile: no certificate … PEM", mtls, { ca: serverKey }),
  withToken("{ file: DIR/nothing }", "ENOENT … create"),
  withToken("canary-token-in-plain-text", "never written into … file"),
  withToken("[canary-token-in-plain-text]", "where the secret is … file"),
  withToken("[]", "empty"),
  holding("\n", "empty … put it"),
  holding("canary-15-bytes", "shorter than 16 … keygen"),
  holding("canary of several words", "RFC 6750 … keygen"),
  holding("canary-\u00fcmlaut-of-length", "RFC 6750 … keygen"),
  holding("canary-of-two-lines\n\n", "RFC 6750 … keygen"),
  holding("canary=in=the=middle", "RFC 6750 … keygen"),
  withRight("site: [S1000000001]", "site: no key site … mean sites"),
  { ...refusal(misspelt, `${payments}.sitez: no key sitez … sites`), count: 3 },
  refusal(`{ "pay ments": { ${byToken} } }`, `${ofAll}.pay ments: not allowed here … 1 to 64`),
  withRight("requestsPerSecond: 0", "requestsPerSecond: less than 0.01 … 0.01"),
  withRight("sites: [S1000000004]", "sites[0]: no site S1000000004 … did you mean S100000000"),
  withRight("operations: [creat_order]", "operations[0]: no operation creat_order … did you mean create_order"),
  withRight("sites: []", "sites: empty"),
]);

itRefuses("names that no certificate is known by", [
  withName("spiffe://prod.example/*", "pattern"),
  withName("*.example", "pattern"),
  withName("spiffe://prod.example", "no SPIFFE ID"),
  withName(`${spiffe}/`, "no SPIFFE ID"),
  withName("SPIFFE://prod.example/a", "no SPIFFE ID"),
  withName("10.0.0.1", "address"),
  withName("Payments Service", "cannot be read"),
  // A quote would be read as the start of another name.
  withName('urn:a\\"', "cannot be read"),
]);

const twice = (first: string, second: string, environment = "sandbox") =>
  here(`${line(ofPayments(first))}${line(second, "", '":7414"', environment)}`);

itRefuses("callers that cannot be told apart", [
  refusal(
    `{ payments: { ${byToken} }, b: { token: { file: DIR/copy } } }`,
    `${ofAll}.b.token: same caller token is at ${token} … of its own`,
  ),
  refusal(ofPayments("token: [ { file: DIR/main }, { file: DIR/copy } ]"), `${token}[1]: already … another`),
  refusal(
    "{ a: { certificate: pay.example }, b: { certificate: PAY.example } }",
    `${ofAll}.b.certificate: callers.a.certificate … of its own`,
    mtls,
  ),
  refusal(ofPayments("certificate: [pay.example, pay.example]"), `${payments}.certificate[1]: already`, mtls),
  fault(twice(byToken, `{ b: { ${byToken} } }`), "listeners[1].callers.b.token: at listeners[0] … of its own"),
  fault(
    twice(`${byToken}, requestsPerSecond: 5`, ofPayments(`${byToken}, requestsPerSecond: 6`)),
    `listeners[1].callers.payments.requestsPerSecond: another rate at ${payments} … the same at both`,
  ),
  fault(
    `${twice(byToken, ofPayments(byToken), "production")}${production.replace("DIR/main", "DIR/green")}`,
    "listeners[1].callers.payments.token: also environment sandbox's … environment production its own",
  ),
  refusal(ofPayments(byName), "listeners[0].mtls.keyFile: not the certificate's … certFile", mtls, { key: clientKey }),
]);

const socket = '  - { bind: "unix:/run/a.sock", environment: sandbox }';

const ofSecond = (entry: string, said: string) => fault(withSecondListener(entry), `listeners[1].bind: ${said}`);

itRefuses("unsafe places to listen", [
  ofSecond('bind: "127.0.0.1:7411", environment: sandbox', "listeners[0] … own"),
  fault(at(`${socket}\n`, edited([listener, `${socket} \n${socket}\n`])), "listeners[1].bind: listeners[0] … own"),
  fault(
    withSecondListener('bind: "[::1]:7411", environment: production').concat(production),
    "listeners[1].bind: listeners[0].bind listens there already: 127.0.0.1:7411 … own",
  ),
  ...["", "0.0.0.0", "[::]", "localhost"].map((host) =>
    ofSecond(`bind: "${host}:7411", environment: sandbox, callers: anyone`, "listeners[0] … own"),
  ),
  fault(at(admin, edited([listener, listener.replace("7411", "7412")])), "admin.bind: listeners[0] … own"),
  fault(withStatus('bind: "127.0.0.1:7412"'), "status.bind: admin … own"),
  fault(withStatus('bind: ":7413"'), "status.bind: loopback … 127.0.0.1"),
  fault(withListener('bind: ":7411", environment: sandbox'), "listeners[0].bind: not on loopback … anyone"),
  fault(at("listeners:\n", sound), ": NODE_TLS_REJECT_UNAUTHORIZED … unset", {}, { NODE_TLS_REJECT_UNAUTHORIZED: "0" }),
]);

async function load(yaml: string) {
  const folder = new ConfigFolder(files);
  const loaded = await folder.loadSound(yaml, { env: { OLD: "canary-old-token-of-good-length" } });
  expect(JSON.stringify(loaded)).not.toContain("canary");
  const callers = loaded.config.listeners.map((each) => (each.callers?.kind === "named" ? each.callers : undefined));
  const ofListeners = located(loaded.warnings).filter(({ path }) => path.startsWith("listeners"));
  return { first: callers[0], warnings: ofListeners.map(({ path, code }) => `${path}: ${code}`) };
}
