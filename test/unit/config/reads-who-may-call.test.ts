/** Rows 60 and 80: callers are read and checked before anything listens. */
import { describe, expect, test } from "vitest";
import { authority, clientKey, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { ConfigFolder, edited, production } from "../../../testkit/config-folder.ts";
import { fault, itRefuses, listener, type Said } from "./refusal.ts";

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

async function load(yaml: string) {
  const folder = new ConfigFolder(files);
  const loaded = await folder.loadSound(yaml, { env: { OLD: "canary-old-token-of-good-length" } });
  expect(JSON.stringify(loaded)).not.toContain("canary");
  const callers = loaded.config.listeners.map((each) => (each.callers?.kind === "named" ? each.callers : undefined));
  const ofListeners = loaded.warnings.filter(({ path }) => path.startsWith("listeners"));
  return { first: callers[0], warnings: ofListeners.map(({ path, code }) => `${path}: ${code}`) };
}

describe("callers with names", () => {
  test("have one token or several, all sites and all operations, where nothing else is said", async () => {
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
    const names = `["${spiffe}", "URN:x", Payments.Example, "urn:uuid:1"]`.replace('"URN:x", ', "");
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

  test("may have a certificate that another environment knows by another name", async () => {
    const both = `${line(`{ payments: { ${byName} } }`, mtls)}${line(`{ tests: { ${byName} } }`, mtls, '":7414"', "production")}`;
    expect((await load(`${listening(both)}${production}`)).warnings).toEqual([]);
  });

  test("of an environment with the name of an object's own method are refused for that alone", async () => {
    const yaml = listening(line(`{ payments: { ${byToken}, sites: [S1] } }`, "", loopback, "constructor"));
    const problems = await new ConfigFolder().problemsOf(yaml);
    expect(problems.map(({ path }) => path)).toEqual(["listeners[0].environment"]);
  });

  test("are warned about where their tokens cross a network", async () => {
    const { warnings } = await load(listening(line(`{ payments: { ${byToken} } }`, "", '":7411"')));
    expect(warnings).toEqual(["listeners[0].callers: callers_in_plain_text"]);
    for (const bind of [loopback, '"[::1]:7411"', '"unix:/run/a.sock"']) {
      expect((await load(listening(line(`{ payments: { ${byToken} } }`, "", bind)))).warnings).toEqual([]);
    }
  });
});

/** With the fault in the last line. */
const here = (lines: string) => listening(`${lines.trimEnd()} # here\n`);
const ofAll = "listeners[0].callers";
const payments = `${ofAll}.payments`;
const token = `${payments}.token`;
const ofPayments = (settings: string) => `{ payments: { ${settings} } }`;
const refusal = (what: string, callers: string, said: Said, more = "", changed: Partial<typeof files> = {}) =>
  fault(what, here(line(callers, more)), said, { files: changed });
const withToken = (what: string, written: string, message: RegExp, fix: RegExp) =>
  refusal(what, ofPayments(`token: ${written}`), [token, message, fix]);
/** With this in the token's file. */
const holding = (what: string, main: string, message: RegExp, fix: RegExp) =>
  fault(what, here(line(ofPayments(byToken))), [token, message, fix], { files: { main } });

itRefuses(
  "callers that are not known well enough",
  [
    refusal("no caller", "{}", [ofAll, /there is no caller/, /add one/]),
    refusal("a caller that nothing proves", ofPayments("sites: [S1000000001]"), [
      payments,
      /nothing proves/,
      /add token/,
    ]),
    refusal(
      "the same with mtls",
      ofPayments("sites: [S1000000001]"),
      [payments, /nothing proves/, /certificate/],
      mtls,
    ),
    refusal("a token with mtls", ofPayments(byToken), [token, /with a certificate/, /certificate/], mtls),
    refusal("a certificate without mtls", ofPayments(byName), [`${payments}.certificate`, /nothing asks/, /add mtls/]),
    refusal("mtls for anyone", "anyone", ["listeners[0].mtls", /callers that have names/, /NAME/], mtls),
    refusal("a list of tokens", "{ tokens: [ { file: DIR/main } ] }", [`${ofAll}.tokens`, /must be a mapping/, /./]),
    refusal(
      "a listener's certificate without its key",
      ofPayments(byName),
      ["listeners[0].mtls.keyFile", /missing/, /./],
      ", mtls: { caFile: ca, certFile: cert }",
    ),
    refusal(
      "an authority that is no certificate",
      ofPayments(byName),
      ["listeners[0].mtls.caFile", /no certificate/, /PEM/],
      mtls,
      { ca: serverKey },
    ),
    withToken("a file that is not there", "{ file: DIR/nothing }", /ENOENT/, /create/),
    withToken("a token in plain text", "canary-token-in-plain-text", /never written into/, /file/),
    withToken("a token in a list of texts", "[canary-token-in-plain-text]", /where the secret is/, /file/),
    withToken("no token in a list", "[]", /./, /./),
    holding("an empty token", "\n", /empty/, /put it/),
    holding("a short token", "canary-15-bytes", /shorter than 16/, /keygen/),
    ...[
      "canary of several words",
      "canary-\u00fcmlaut-of-length",
      "canary-of-two-lines\n\n",
      "canary=in=the=middle",
    ].map((main) => holding(`a token that cannot be sent: ${JSON.stringify(main)}`, main, /RFC 6750/, /keygen/)),
    refusal("a misspelt key", ofPayments(`${byToken}, site: [S1000000001]`), [
      `${payments}.site`,
      /no key site/,
      /mean sites/,
    ]),
    {
      ...refusal("several misspelt keys", "{ payments: { tokn: 1, sitez: 2 }, b: { rate: 3 } }", [
        `${payments}.sitez`,
        /no key sitez/,
        /sites/,
      ]),
      count: 3,
    },
    refusal("a name that no metric can have", `{ "pay ments": { ${byToken} } }`, [
      `${ofAll}.pay ments`,
      /called so/,
      /1 to 64/,
    ]),
    ...(
      [
        ["a rate of nothing", "requestsPerSecond", "0", /less than 0.01/, /0.01/],
        ["a site of nobody", "sites[0]", "[S1000000004]", /no site S1000000004/, /did you mean S100000000/],
        [
          "an unknown operation",
          "operations[0]",
          "[creat_order]",
          /no operation creat_order/,
          /did you mean create_order/,
        ],
        ["no site at all", "sites", "[]", /empty/, /./],
      ] as const
    ).map(([what, place, written, message, fix]) =>
      refusal(what, ofPayments(`${byToken}, ${place.replace("[0]", "")}: ${written}`), [
        `${payments}.${place}`,
        message,
        fix,
      ]),
    ),
  ],
  files,
);

const names = [
  ["a pattern", "spiffe://prod.example/*", /pattern/],
  ["a wildcard", "*.example", /pattern/],
  ["a trust domain", "spiffe://prod.example", /no SPIFFE ID/],
  ["a SPIFFE ID with a slash at its end", `${spiffe}/`, /no SPIFFE ID/],
  ["a SPIFFE ID in capitals", "SPIFFE://prod.example/a", /no SPIFFE ID/],
  ["an address", "10.0.0.1", /address/],
  ["a common name", "Payments Service", /right form|cannot be read/],
  ["a quote, which would be read as two names", `urn:a\\"`, /right form|cannot be read/],
] as const;

itRefuses(
  "names that no certificate is known by",
  names.map(([what, name, message]) =>
    refusal(what, ofPayments(`certificate: "${name}"`), [`${payments}.certificate`, message, /write/], mtls),
  ),
  files,
);

const twice = (first: string, second: string, environment = "sandbox") =>
  here(`${line(ofPayments(first))}${line(second, "", '":7414"', environment)}`);

itRefuses(
  "callers that cannot be told apart",
  [
    refusal("one token for two", `{ payments: { ${byToken} }, b: { token: { file: DIR/copy } } }`, [
      `${ofAll}.b.token`,
      /same caller token is at listeners\[0\].callers.payments.token/,
      /of its own/,
    ]),
    refusal("one token twice", ofPayments("token: [ { file: DIR/main }, { file: DIR/copy } ]"), [
      `${token}[1]`,
      /already/,
      /another/,
    ]),
    refusal(
      "one certificate for two",
      "{ a: { certificate: pay.example }, b: { certificate: PAY.example } }",
      [`${ofAll}.b.certificate`, /callers\.a\.certificate/, /of its own/],
      mtls,
    ),
    refusal(
      "one name twice",
      ofPayments("certificate: [pay.example, pay.example]"),
      [`${payments}.certificate[1]`, /already/, /./],
      mtls,
    ),
    fault("one token for two, at two listeners", twice(byToken, `{ b: { ${byToken} } }`), [
      "listeners[1].callers.b.token",
      /at listeners\[0\]/,
      /of its own/,
    ]),
    fault(
      "a name with two rates in one environment",
      twice(`${byToken}, requestsPerSecond: 5`, ofPayments(`${byToken}, requestsPerSecond: 6`)),
      [
        "listeners[1].callers.payments.requestsPerSecond",
        /another rate at listeners\[0\].callers.payments/,
        /the same at both/,
      ],
    ),
    fault(
      "a token that opens another environment",
      `${twice(byToken, ofPayments(byToken), "production")}${production.replace("DIR/main", "DIR/green")}`,
      ["listeners[1].callers.payments.token", /also environment sandbox's/, /environment production its own/],
    ),
    refusal(
      "a certificate with another's key",
      ofPayments(byName),
      ["listeners[0].mtls.keyFile", /not the certificate's/, /certFile/],
      mtls,
      { key: clientKey },
    ),
  ],
  files,
);
