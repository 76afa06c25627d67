import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { callersAuthority, paymentsCertificate } from "../../../testkit/caller-certificates.ts";
import { expiredCertificate, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { listen } from "../../../testkit/listen.ts";
import { type Diagnosis, diagnose } from "./doctor-run.ts";
import { environmentOf, openFolder, type Parts, startService } from "./doctor-setup.ts";

// What the doctor says of callers, of their signatures, of pass-through routes and of the collector that spans go to.

interface Added extends Omit<Parts, "environments"> {
  /** Keys of the environment, and further sites. */
  readonly environment?: string;
  readonly sites?: string;
  readonly files?: Readonly<Record<string, string>>;
}

/** Of a sound configuration with this added. */
async function diagnoseWith({ environment = "", sites = "", files = {}, ...parts }: Added): Promise<Diagnosis> {
  const { folder, write } = await openFolder();
  for (const [name, content] of Object.entries(files)) folder.write(name, content);
  const sandbox = environmentOf(await startService()).replace(/sites: \{/, `${environment}sites: { ${sites}`);
  return diagnose(write({ environments: { sandbox }, ...parts }), { withToken: false });
}

describe("of callers", () => {
  const mtls = "mtls: { caFile: ca, certFile: cert, keyFile: key }, callers: { a: { certificate: a.example } }";
  const diagnoseCallers = (listener: string, own: Readonly<Record<string, string>> = {}) =>
    diagnoseWith({
      listener: `, ${listener}`,
      files: { ca: callersAuthority, cert: serverCertificate, key: serverKey, ...own },
    });

  it("looks at the listener's certificate and its authorities", async () => {
    const { hasFailed, of } = await diagnoseCallers(mtls);
    expect(hasFailed).toBe(false);
    expect(of("caller")).toEqual([
      expect.stringMatching(/^ok unix:.* certificate: CN=localhost, valid for another \d+ days$/),
      expect.stringMatching(/^ok unix:.* authority: CN=Countersign callers CA, valid for another \d+ days$/),
    ]);
  });

  it("fails where one has expired, and warns of an authority that is none", async () => {
    const expired = await diagnoseCallers(mtls, { cert: expiredCertificate });
    expect(expired.hasFailed).toBe(true);
    expect(expired.of("caller")[0]).toMatch(/^fail .*: CN=localhost expired \d+ days ago: .* \| renew mtls.certFile$/);
    const { of } = await diagnoseCallers(mtls, { ca: `${callersAuthority}${paymentsCertificate}` });
    expect(of("caller")[2]).toMatch(/^warn .*: URI:spiffe:.* is no authority: .* \| give the authority's/);
  });
});

it("names children of a site whose callers' signatures are checked, that have no key to check with", async () => {
  const check = async (children: string) => {
    const keys = "keys: [ { identifier: K2000000001, secret: { file: DIR/k1 } } ]";
    const sites = `S1000000003: { checkCallerSignature: report, ${keys}, children: { ${children} } },`;
    return (await diagnoseWith({ sites })).of("config").filter((line) => line.includes("signatures"));
  };
  const own = "S1000000008: { keys: [ { identifier: K8, secret: { file: DIR/k2 } } ] }";
  expect(await check(own)).toEqual([]);
  const set = "{ name: green, clientId: a, clientSecret: { file: DIR/green }, audience: b }";
  expect(await check(`${own}, S1000000009: { auth: [oauth], credentials: [ ${set} ] }`)).toEqual([
    expect.stringMatching(/^warn signatures: .* for S1000000009 cannot be checked: no keys \| add the keys/),
  ]);
});

it("warns of a route whose requests may name a site that has no token", async () => {
  const environment = 'passThrough: [ { prefix: "/files/", methods: [GET] } ], ';
  const warned = async (sites: string) =>
    (await diagnoseWith({ environment, sites })).of("config").filter((line) => line.includes("/files/"));
  expect(await warned("")).toEqual([]);
  expect(await warned("S2: { keys: [ { identifier: K2, secret: { file: DIR/k1 } } ] },")).toEqual([
    expect.stringMatching(/^warn \/files\/: .* only 1 of 2 sites use OAuth \| add site to the route/),
  ]);
});

describe("of the collector", () => {
  async function diagnoseTracing(port: number): Promise<Diagnosis> {
    process.env["COLLECTOR_KEY"] = "canary-of-the-collector";
    onTestFinished(() => void delete process.env["COLLECTOR_KEY"]);
    const headers = "headers: { x-api-key: { env: COLLECTOR_KEY } }";
    return diagnoseWith({ more: `tracing: { otlp: { endpoint: "http://127.0.0.1:${port}/v1/traces", ${headers} } }` });
  }

  async function startAnswering(status: number) {
    const seen: string[] = [];
    const server = createServer(async (incoming, response) => {
      const body = await text(incoming);
      seen.push(`${incoming.method} ${incoming.url} ${incoming.headers["x-api-key"]} ${body}`);
      response.writeHead(status).end("{}");
    });
    return { port: await listen(server), seen };
  }

  it("says that it takes spans, and gives it none", async () => {
    const { port, seen } = await startAnswering(200);
    const { hasFailed, of } = await diagnoseTracing(port);
    expect(hasFailed).toBe(false);
    expect(of("tracing")).toEqual([`ok collector 127.0.0.1:${port}: it takes spans (no TLS)`]);
    expect(seen).toEqual(['POST /v1/traces canary-of-the-collector {"resourceSpans":[]}']);
  });

  it.each([
    [401, "fail", /tracing\.otlp\.headers/],
    [404, "fail", /tracing\.otlp\.endpoint/],
    [415, "fail", /JSON/],
    [503, "warn", /collector's own log/],
  ])("says what to do about HTTP %i", async (status, verdict, fix) => {
    const { of } = await diagnoseTracing((await startAnswering(status)).port);
    expect(of("tracing")[0]).toMatch(new RegExp(`^${verdict} collector .*HTTP ${status}`));
    expect(of("tracing")[0]).toMatch(fix);
  });

  it("fails where it refuses connections", async () => {
    const { hasFailed, of } = await diagnoseTracing(await freePort());
    expect(hasFailed).toBe(true);
    expect(of("tracing")[0]).toMatch(/^fail collector .*ECONNREFUSED.*tracing\.otlp\.endpoint/);
  });
});
