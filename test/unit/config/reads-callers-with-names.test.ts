/** Row 80: callers with names and rights are read and checked before anything listens. */
import { describe, expect, test } from "vitest";
import { authority, clientKey, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { ConfigFolder, edited, production } from "../../../testkit/config-folder.ts";
import { itRefuses, listener, type Refusal } from "./refusal.ts";

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
const instead = (lines: string) => edited([listener, lines]);
const byToken = "token: { file: DIR/main }";
const byName = `certificate: "${spiffe}"`;

async function load(yaml: string) {
  const folder = new ConfigFolder();
  for (const [name, content] of Object.entries(files)) folder.write(name, content);
  const loaded = await folder.load(yaml, { env: { OLD: "canary-old-token-of-good-length" } });
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  expect(JSON.stringify(loaded)).not.toContain("canary");
  const callers = loaded.config.listeners.map((each) => (each.callers?.kind === "named" ? each.callers : undefined));
  const ofListeners = loaded.warnings.filter(({ path }) => path.startsWith("listeners"));
  return { first: callers[0], warnings: ofListeners.map(({ path, code }) => `${path}: ${code}`) };
}

describe("callers with names", () => {
  test("have one token or several, all sites and all operations, where nothing else is said", async () => {
    const written = `{ payments: { ${byToken} }, reports: { token: [ { file: DIR/new }, { env: OLD } ] } }`;
    const { first, warnings } = await load(instead(line(written)));
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
    const { first } = await load(instead(line(`{ payments: { ${byToken}, ${rights} } }`)));
    expect(first?.callers).toMatchObject([
      { sites: new Set(["S1000000003", "S1000000001"]), operations: new Set(["create_order"]), requestsPerSecond: 0.5 },
    ]);
  });

  test("have names of certificates, each kept with its kind", async () => {
    const names = `["${spiffe}", "URN:x", Payments.Example, "urn:uuid:1"]`.replace('"URN:x", ', "");
    const { first, warnings } = await load(instead(line(`{ payments: { certificate: ${names} } }`, mtls, '":7411"')));
    expect(first?.callers[0]?.certificates).toEqual([`URI:${spiffe}`, "DNS:payments.example", "URI:urn:uuid:1"]);
    expect(first?.tls).toMatchObject({ ca: authority, cert: serverCertificate });
    expect(warnings).toEqual([]);
  });

  test("may be the same at two listeners of an environment", async () => {
    const callers = `{ payments: { ${byToken}, requestsPerSecond: 5 } }`;
    const { warnings } = await load(instead(`${line(callers)}${line(callers, "", '"[::1]:7411"')}`));
    expect(warnings).toEqual([]);
  });

  test("may have a certificate that another environment knows by another name", async () => {
    const both = `${line(`{ payments: { ${byName} } }`, mtls)}${line(`{ tests: { ${byName} } }`, mtls, '":7414"', "production")}`;
    expect((await load(`${instead(both)}${production}`)).warnings).toEqual([]);
  });

  test("of an environment with the name of an object's own method are refused for that alone", async () => {
    const yaml = instead(line(`{ payments: { ${byToken}, sites: [S1] } }`, "", loopback, "constructor"));
    const problems = await new ConfigFolder().problemsOf(yaml);
    expect(problems.map(({ path }) => path)).toEqual(["listeners[0].environment"]);
  });

  test("are warned about where their tokens cross a network", async () => {
    const { warnings } = await load(instead(line(`{ payments: { ${byToken} } }`, "", '":7411"')));
    expect(warnings).toEqual(["listeners[0].callers: callers_in_plain_text"]);
  });
});

const here = (lines: string) => instead(`${lines.trimEnd()} # here\n`);
const payments = "listeners[0].callers.payments";
const refusal = (what: string, callers: string, path: string, message: RegExp, fix: RegExp, more = ""): Refusal => {
  return { what, yaml: here(line(callers, more)), path, message, fix, files };
};
const ofPayments = (settings: string) => `{ payments: { ${settings} } }`;

itRefuses(
  "callers that are not known well enough",
  [
    refusal("no caller", "{}", "listeners[0].callers", /there is no caller/, /add one/),
    refusal(
      "a caller that nothing proves",
      ofPayments("sites: [S1000000001]"),
      payments,
      /nothing proves/,
      /add token/,
    ),
    refusal("the same with mtls", ofPayments("sites: [S1000000001]"), payments, /nothing proves/, /certificate/, mtls),
    refusal("a token with mtls", ofPayments(byToken), `${payments}.token`, /with a certificate/, /certificate/, mtls),
    refusal("a certificate without mtls", ofPayments(byName), `${payments}.certificate`, /nothing asks/, /add mtls/),
    refusal("mtls for anyone", "anyone", "listeners[0].mtls", /callers that have names/, /NAME/, mtls),
    refusal("mtls for a list", "{ tokens: [ { file: DIR/main } ] }", "listeners[0].mtls", /have names/, /NAME/, mtls),
    refusal(
      "a token in plain text",
      ofPayments("token: canary-token-in-plain-text"),
      `${payments}.token`,
      /never written into/,
      /file/,
    ),
    refusal(
      "a token in a list of texts",
      ofPayments("token: [canary-token-in-plain-text]"),
      `${payments}.token`,
      /where the secret is/,
      /file/,
    ),
    refusal("no token in a list", ofPayments("token: []"), `${payments}.token`, /./, /./),
    {
      ...refusal("a short token", ofPayments(byToken), `${payments}.token`, /shorter than 16/, /keygen/),
      files: { ...files, main: "canary-15-bytes" },
    },
    {
      ...refusal("a token that cannot be sent", ofPayments(byToken), `${payments}.token`, /RFC 6750/, /keygen/),
      files: { ...files, main: "canary of several words" },
    },
    refusal(
      "a misspelt key",
      ofPayments(`${byToken}, site: [S1000000001]`),
      `${payments}.site`,
      /no key site/,
      /mean sites/,
    ),
    refusal(
      "several misspelt keys",
      `{ payments: { tokn: 1, sitez: 2 }, b: { rate: 3 } }`,
      `${payments}.sitez`,
      /no key sitez/,
      /sites/,
    ),
    refusal(
      "a name that no metric can have",
      `{ "pay ments": { ${byToken} } }`,
      "listeners[0].callers.pay ments",
      /called so/,
      /1 to 64/,
    ),
    refusal(
      "a rate of nothing",
      ofPayments(`${byToken}, requestsPerSecond: 0`),
      `${payments}.requestsPerSecond`,
      /less than 0.01/,
      /0.01/,
    ),
    refusal(
      "a site of nobody",
      ofPayments(`${byToken}, sites: [S1000000004]`),
      `${payments}.sites[0]`,
      /no site S1000000004/,
      /did you mean S100000000/,
    ),
    refusal(
      "an operation that is not configured",
      ofPayments(`${byToken}, operations: [creat_order]`),
      `${payments}.operations[0]`,
      /no operation creat_order/,
      /did you mean create_order/,
    ),
    refusal("no site at all", ofPayments(`${byToken}, sites: []`), `${payments}.sites`, /empty/, /./),
  ].map((each) => (each.what === "several misspelt keys" ? { ...each, count: 3 } : each)),
);

itRefuses(
  "names that no certificate is known by",
  [
    ["a pattern", "spiffe://prod.example/*", /pattern/],
    ["a wildcard", "*.example", /pattern/],
    ["a trust domain", "spiffe://prod.example", /no SPIFFE ID/],
    ["a SPIFFE ID with a slash at its end", `${spiffe}/`, /no SPIFFE ID/],
    ["a SPIFFE ID in capitals", "SPIFFE://prod.example/a", /no SPIFFE ID/],
    ["an address", "10.0.0.1", /address/],
    ["a common name", "Payments Service", /right form|cannot be read/],
    ["a quote, which would be read as two names", `urn:a\\"`, /right form|cannot be read/],
  ].map(([what, name, message]) =>
    refusal(
      String(what),
      ofPayments(`certificate: "${name}"`),
      `${payments}.certificate`,
      message as RegExp,
      /write/,
      mtls,
    ),
  ),
);

const twice = (first: string, second: string, more = "") =>
  instead(`${line(first, more)}${line(second, more, '":7414"').trimEnd()} # here\n`);

itRefuses("callers that cannot be told apart", [
  refusal(
    "one token for two",
    `{ payments: { ${byToken} }, b: { token: { file: DIR/copy } } }`,
    "listeners[0].callers.b.token",
    /also the token of listeners\[0\].callers.payments.token/,
    /of its own/,
  ),
  refusal(
    "one token twice",
    ofPayments("token: [ { file: DIR/main }, { file: DIR/copy } ]"),
    `${payments}.token[1]`,
    /the same token/,
    /another/,
  ),
  refusal(
    "one certificate for two",
    `{ a: { certificate: pay.example }, b: { certificate: PAY.example } }`,
    "listeners[0].callers.b.certificate",
    /caller a's/,
    /of its own/,
    mtls,
  ),
  refusal(
    "one name twice",
    ofPayments("certificate: [pay.example, pay.example]"),
    `${payments}.certificate[1]`,
    /there already/,
    /./,
    mtls,
  ),
  {
    what: "one token for two, at two listeners",
    yaml: twice(`{ payments: { ${byToken} } }`, `{ b: { ${byToken} } }`),
    path: "listeners[1].callers.b.token",
    message: /also the token of listeners\[0\]/,
    fix: /of its own/,
  },
  {
    what: "a token that is also in a list of tokens",
    yaml: twice("{ tokens: [ { file: DIR/main } ] }", `{ b: { ${byToken} } }`),
    path: "listeners[1].callers.b.token",
    message: /also the token of listeners\[0\].callers.tokens\[0\]/,
    fix: /of its own/,
  },
  {
    what: "a name with two rates in one environment",
    yaml: twice(
      `{ payments: { ${byToken}, requestsPerSecond: 5 } }`,
      `{ payments: { ${byToken}, requestsPerSecond: 6 } }`,
    ),
    path: "listeners[1].callers.payments.requestsPerSecond",
    message: /another rate at listeners\[0\].callers.payments/,
    fix: /the same at both/,
  },
  {
    what: "a token that opens another environment",
    yaml: `${instead(`${line(`{ payments: { ${byToken} } }`)}${line(`{ payments: { ${byToken} } }`, "", '":7414"', "production").trimEnd()} # here\n`)}${production.replace("DIR/main", "DIR/green").replace("main-id", "other-id")}`,
    path: "listeners[1].callers.payments.token",
    message: /also opens environment sandbox/,
    fix: /callers of environment production/,
  },
  {
    ...refusal(
      "a certificate with another's key",
      ofPayments(byName),
      "listeners[0].mtls.keyFile",
      /not the certificate's/,
      /certFile/,
      mtls,
    ),
    files: { ...files, key: clientKey },
  },
]);
