import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { callersAuthority, paymentsCertificate } from "../../../testkit/caller-certificates.ts";
import { expiredCertificate, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { listen } from "../../../testkit/listen.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { startServe } from "../../../testkit/run-program.ts";
import {
  blueSites,
  configureDoctor,
  type Diagnosis,
  diagnose,
  keyedSite,
  runDoctor,
  sitesWith,
} from "./doctor-runs.ts";

// The doctor's report on callers and their signatures, pass-through routes, the application for callbacks, the collector for
// spans, and the running `serve`.

describe("on callers", () => {
  const mtls = "mtls: { caFile: ca, certFile: cert, keyFile: key }, callers: { a: { certificate: a.example } }";
  const diagnoseCallers = (listener: string, own: Readonly<Record<string, string>> = {}) =>
    diagnoseWith({
      listener: `, ${listener}`,
      files: { ca: callersAuthority, cert: serverCertificate, key: serverKey, ...own },
    });

  it("checks the listener's certificate and its authorities", async () => {
    const { hasFailed, of } = await diagnoseCallers(mtls);
    expect(hasFailed).toBe(false);
    expect(of("caller")).toEqual([
      expect.stringMatching(/^ok unix:.* certificate: CN=localhost, valid for another \d+ days$/),
      expect.stringMatching(/^ok unix:.* authority: CN=Countersign callers CA, valid for another \d+ days$/),
    ]);
  });

  it("fails if a certificate has expired, and warns of an authority that is none", async () => {
    const expired = await diagnoseCallers(mtls, { cert: expiredCertificate });
    expect(expired.hasFailed).toBe(true);
    expect(expired.of("caller")[0]).toMatch(/^fail .*: CN=localhost expired \d+ days ago: .* \| renew mtls.certFile$/);
    const { of } = await diagnoseCallers(mtls, { ca: `${callersAuthority}${paymentsCertificate}` });
    expect(of("caller")[2]).toMatch(/^warn .*: URI:spiffe:.* is no authority: .* \| give the authority's/);
  });
});

it("names child sites without the key that checking their callers' signatures needs", async () => {
  const check = async (children: string) => {
    const keys = "keys: [ { identifier: K2000000001, secret: { file: DIR/k1 } } ]";
    const sites = `S1000000003: { checkCallerSignature: report, ${keys}, children: { ${children} } }`;
    return (await diagnoseWith({ sites: sitesWith(sites) })).of("config").filter((line) => line.includes("signatures"));
  };
  const own = "S1000000008: { keys: [ { identifier: K8, secret: { file: DIR/k2 } } ] }";
  expect(await check(own)).toEqual([]);
  const set = "{ name: green, clientId: a, clientSecret: { file: DIR/green }, audience: b }";
  expect(await check(`${own}, S1000000009: { auth: [oauth], credentials: [ ${set} ] }`)).toEqual([
    expect.stringMatching(/^warn signatures: .* for S1000000009 cannot be checked: no keys \| add the keys/),
  ]);
});

it("warns of a route whose requests may name a site that has no token", async () => {
  const route = 'passThrough: [ { prefix: "/files/", methods: [GET] } ]';
  const warned = async (sites: string) =>
    (await diagnoseWith({ sites: `${route}, ${sites}` })).of("config").filter((line) => line.includes("/files/"));
  expect(await warned(blueSites)).toEqual([]);
  expect(await warned(sitesWith(keyedSite))).toEqual([
    expect.stringMatching(
      /^warn \/files\/: .* only 1 of 2 sites use OAuth \| add site to the route, or .* and oauth in their auth$/,
    ),
  ]);
});

describe("on the application for callbacks", () => {
  async function diagnoseCallbacks(port: number): Promise<Diagnosis> {
    const application = `application: { url: "http://127.0.0.1:${port}/callbacks" }`;
    const listener = `{ bind: "127.0.0.1:${await freePort()}", environment: sandbox, ${application} }`;
    return diagnoseWith({ sites: sitesWith(keyedSite), more: `callbacks: [ ${listener} ]` });
  }

  it("reports that it accepts connections, and which sites have no key", async () => {
    const chunks: Buffer[] = [];
    const port = await listen(createServer((socket) => socket.on("data", (chunk) => void chunks.push(chunk))));
    const { hasFailed, of } = await diagnoseCallbacks(port);
    expect(hasFailed).toBe(false);
    expect(of("config").filter((line) => /^warn .*callbacks_without_keys/.test(line))).toHaveLength(1);
    expect(of("callback")).toEqual([`ok application 127.0.0.1:${port}: takes connections`]);
    expect(chunks).toEqual([]);
  });

  it("fails if it refuses connections", async () => {
    const { hasFailed, of } = await diagnoseCallbacks(await freePort());
    expect(hasFailed).toBe(true);
    expect(of("callback")[0]).toMatch(
      /^fail application \S+: .*\(ECONNREFUSED\) \| .*callbacks\[0\]\.application\.url/,
    );
  });
});

describe("on the collector", () => {
  async function diagnoseTracing(port: number): Promise<Diagnosis> {
    process.env["COLLECTOR_KEY"] = "canary-of-the-collector";
    onTestFinished(() => void delete process.env["COLLECTOR_KEY"]);
    const headers = "headers: { x-api-key: { env: COLLECTOR_KEY } }";
    return diagnoseWith({ more: `tracing: { otlp: { endpoint: "http://127.0.0.1:${port}/v1/traces", ${headers} } }` });
  }

  it("reports that it accepts spans, and sends it none", async () => {
    const { port, requests } = await startRawUpstream({ answer: rawAnswer(200, "{}") });
    const { hasFailed, of } = await diagnoseTracing(port);
    expect(hasFailed).toBe(false);
    expect(of("tracing")).toEqual([`ok collector 127.0.0.1:${port}: it takes spans (no TLS)`]);
    const [{ head = "", body } = {}, ...more] = requests;
    expect(head).toMatch(/^POST \/v1\/traces HTTP\/1\.1\r\n(.*\r\n)*x-api-key: canary-of-the-collector\r\n/i);
    expect([body, more]).toEqual(['{"resourceSpans":[]}', []]);
  });

  it.each([
    [401, "fail", /tracing\.otlp\.headers/],
    [404, "fail", /tracing\.otlp\.endpoint/],
    [415, "fail", /JSON/],
    [503, "warn", /collector's own log/],
  ])("says what to do about HTTP %i", async (status, verdict, fix) => {
    const { of } = await diagnoseTracing((await startRawUpstream({ answer: rawAnswer(status, "{}") })).port);
    expect(of("tracing")[0]).toMatch(new RegExp(`^${verdict} collector .*HTTP ${status}`));
    expect(of("tracing")[0]).toMatch(fix);
  });

  it("fails if it refuses connections", async () => {
    const { hasFailed, of } = await diagnoseTracing(await freePort());
    expect(hasFailed).toBe(true);
    expect(of("tracing")[0]).toMatch(/^fail collector .*ECONNREFUSED.*tracing\.otlp\.endpoint/);
  });
});

describe("on the server at the admin address", () => {
  it("warns of a serve that runs with another configuration", async () => {
    const { file, folder, adminPort } = await configureDoctor();
    await startServe(folder.write("active.yaml", `${readFileSync(file, "utf8")}log: { level: warn }\n`));
    const { hasFailed, of } = await diagnose(file, { withToken: false });
    expect(hasFailed).toBe(false);
    const { text } = await call(`http://127.0.0.1:${adminPort}`, "", { method: "GET", path: "/metrics" });
    const [, active = ""] = /^countersign_config_info\{hash="(\w{12})"\} 1$/m.exec(text) ?? [];
    const detail = `runs with another configuration (${active}) than this file (`;
    expect(of("serve")[0]).toContain(`warn admin 127.0.0.1:${adminPort}: ${detail}`);
    expect(of("serve")[0]).toMatch(/\((\w{12})\) than this file \((?!\1)\w{12}\) \| its log .*\(config_refused\)/);
    expect(of("token")).toEqual(["skipped S1/blue: not requested (--no-token)"]);
  });

  it.each([
    ["another program", rawAnswer(200, "ok"), /^fail .* is not Countersign \|/],
    ["a program that hangs", "", /^fail .*: no answer \(ETIMEDOUT\) \|/],
    [
      "a port without a listener",
      undefined,
      /^warn .*: nothing listens there, so serve does not run here \| start it, unless/,
    ],
  ])("reports %s", async (_, answer, says) => {
    const { file, folder, adminPort } = await configureDoctor();
    const upstream = await startRawUpstream({ answer: (_, socket) => void (answer && socket.write(answer)) });
    const port = answer === undefined ? adminPort : upstream.port;
    const moved = readFileSync(file, "utf8").replace(`:${adminPort}"`, `:${port}"`);
    const { of } = await diagnose(folder.write("moved.yaml", moved), { withToken: false });
    expect(of("serve")[0]).toMatch(says);
  });
});

describe("on what the requests of the running serve got", () => {
  const unreachable = { by: "countersign", what: "upstream_unreachable", cause: "ENOTFOUND" };
  const ofFormer = { ...unreachable, server: "https://old.example", count: 5 };
  const skipped = (port: number) =>
    `skipped status 127.0.0.1:${port}: no serve answers there, so what requests got is not known`;

  it.each([
    [
      401,
      "401 by the service (API, S1) | compare the set's audience, authUrl and baseUrl with the portal",
      "every-order-gets-401",
    ],
    [
      302,
      "302 by the service (API, S1) | correct environments.sandbox.baseUrl if the host has moved",
      "orders-get-a-redirect",
    ],
    [404, "404 by the service (API, S1) | correct the path in environments.sandbox.baseUrl", "every-order-gets-404"],
  ])("fails if all get %i, and leads to the section of troubleshooting", async (status, says, section) => {
    const { file, folder, simulator, statusPort } = await configureDoctor();
    await startServe(file);
    expect((await diagnose(file)).of("serve")[1]).toBe(
      `skipped status 127.0.0.1:${statusPort}: no request in the last 5 min`,
    );
    const send = () => call("http://localhost", order, { socketPath: `${folder.path}/app.sock` });
    expect((await send()).status).toBe(200);
    expect((await diagnose(file)).of("serve", "sandbox")).toEqual([
      `ok status 127.0.0.1:${statusPort}: none of 1 requests of the last 5 min failed`,
    ]);
    simulator.faults.add({ host: "api", kind: "answer", status, times: "until_cleared" });
    for (let sent = 0; sent < 3; sent += 1) expect((await send()).status).toBe(status);
    const { hasFailed, of } = await diagnose(file);
    expect(hasFailed).toBe(true);
    const [line = ""] = of("serve", "sandbox");
    expect(line).toContain(
      `fail status 127.0.0.1:${statusPort}: 3 of 4 requests of the last 5 min failed: ${says.replace("API", new URL(simulator.apiUrl).origin).split(" | ")[0]}; the last `,
    );
    expect(line).toContain(` | ${says.split(" | ")[1]}`);
    const [, named] = /; see docs\/troubleshooting\.md#([\w-]+)$/.exec(line) ?? [];
    expect(named).toBe(section);
    const titles = readFileSync("docs/troubleshooting.md", "utf8").match(/^## .*$/gm) ?? [];
    expect(titles.map((title) => title.slice("## ".length).toLowerCase().replaceAll(" ", "-"))).toContain(named);
  });

  it("fails if callbacks fail, and warns of lost log lines", async () => {
    const recent = { seconds: 300, requests: 3, failures: [] };
    const failures = [{ by: "countersign", what: "signature_wrong", count: 3 }];
    const callbacks = [{ environment: "sandbox", listener: "127.0.0.1:7414", recent: { ...recent, failures } }];
    const status = { environments: [{ name: "sandbox", recent }], callbacks, droppedLogLines: 7 };
    const more =
      'callbacks: [ { bind: "127.0.0.1:7414", environment: sandbox, application: { url: "http://127.0.0.1:1/" } } ]';
    const sites = sitesWith("S3: { keys: [ { identifier: K3, secret: { file: DIR/own/3 } } ] }");
    const files = { "own/3": "canary-api-secret-key-of-S3" };
    const { of, hasFailed } = await diagnoseAt(rawAnswer(200, JSON.stringify(status)), { files, more, sites });
    expect(hasFailed).toBe(true);
    expect(of("serve").slice(-2)).toEqual([
      expect.stringMatching(
        /^fail callbacks at 127\.0\.0\.1:7414: 3 of 3 callbacks of the last 5 min failed: signature_wrong \| compare the key .*#callbacks-do-not-arrive$/,
      ),
      expect.stringMatching(/^warn .*: 7 log lines are lost since its start \| see what reads standard output/),
    ]);
  });

  it.each([
    [
      "answers that are not JSON",
      { notJson: [{ contentType: "text/html", count: 5 }] },
      /^warn .*: none of 5 requests of the last 5 min failed, but 5 answers were text\/html, not JSON \| see who answers/,
    ],
    [
      "failures that are over",
      {
        failures: [{ by: "service", what: "503", count: 3 }],
        lastFailedAt: "2026-11-29T10:00:00Z",
        succeededSince: 20,
      },
      /^warn .*: 3 of 5 requests of the last 5 min failed: 503 by the service; the last 2 min ago; the 20 since then succeeded; it seems to be over \| nothing, unless it fails again; see docs\/\S+$/,
    ],
    [
      "answers that are not JSON after failures that are over",
      {
        failures: [{ by: "service", what: "503", count: 3 }],
        lastFailedAt: "2026-11-29T10:00:00Z",
        succeededSince: 2,
        notJson: [{ contentType: "text/html", count: 2 }],
      },
      /^warn .*; the 2 since then succeeded; 2 answers were text\/html, not JSON \| see who answers/,
    ],
    [
      "failures that may be over",
      {
        failures: [{ by: "service", what: "404", count: 3 }],
        lastFailedAt: "2026-11-29T10:01:28Z",
        succeededSince: 8,
      },
      /^fail .*: 404 by the service; the last 32 s ago; the 8 since then succeeded \| it is over after a minute without a failure; if it fails again, correct the path/,
    ],
    [
      "failures that go on, though one succeeded",
      {
        failures: [{ by: "service", what: "429", count: 3 }],
        lastFailedAt: "2026-11-29T10:01:59Z",
        succeededSince: 1,
      },
      /; the last 1 s ago; the 1 since then succeeded \| send fewer/,
    ],
    [
      "tokens that are there again",
      {
        failures: [{ by: "countersign", what: "credentials_refused", cause: "HTTP 401", count: 3 }],
        lastFailedAt: "2026-11-29T10:01:28Z",
        succeededSince: 0,
      },
      /^fail .*credentials_refused \(HTTP 401\); the last 32 s ago \| nothing, unless it fails again; see docs/,
    ],
    [
      "a Redis that is there again",
      { failures: [{ by: "countersign", what: "once_unavailable", cause: "Redis", count: 3 }] },
      /^fail .*once_unavailable \(Redis\) \| nothing, unless it fails again; see docs/,
    ],
    [
      "what to do about other failures, if a Redis is there again",
      {
        failures: [
          { by: "countersign", what: "once_unavailable", cause: "Redis", count: 3 },
          { by: "service", what: "429", count: 1 },
        ],
      },
      /^fail .*: 3 × once_unavailable \(Redis\), 1 × 429 by the service \| send fewer, /,
    ],
    [
      "that no Redis is configured",
      { failures: [{ by: "countersign", what: "once_unavailable", cause: "tokens.cache", count: 3 }] },
      /^fail .*\| it needs tokens\.cache: redis; /,
    ],
    [
      "mistakes of callers",
      { failures: [{ by: "countersign", what: "malformed_request", count: 5 }] },
      /^warn .*: no request failed in the last 5 min; 5 of 5 were callers' mistakes: malformed_request \|/,
    ],
    [
      "failures that callers' mistakes do not dilute",
      {
        requests: 100,
        failures: [
          { by: "countersign", what: "method_not_allowed", count: 94 },
          { by: "countersign", what: "upstream_timeout", cause: "no answer", count: 2 },
        ],
      },
      /^fail .*: 2 of 6 requests of the last 5 min failed: upstream_timeout \(no answer\); 94 more were callers' mistakes \| see whether/,
    ],
    [
      "of few mistakes of callers, that nothing failed",
      { requests: 100, failures: [{ by: "countersign", what: "method_not_allowed", count: 1 }] },
      /^ok .*: no request failed in the last 5 min; 1 of 100 was a caller's mistake: method_not_allowed$/,
    ],
    [
      "that the tokens of other sites are accepted",
      { failures: [{ by: "service", what: "401", site: "S1", auth: "oauth", count: 5 }] },
      /\| compare the set's audience with the portal, and the site that it is for; see docs/,
    ],
    [
      "a caller's mistake, with what to send instead",
      { failures: [{ by: "countersign", what: "media_type_not_supported", count: 5 }] },
      /^warn .* \| send Content-Type: application\/json.*a form; see docs/,
    ],
    [
      "an address that is not configured any more",
      { failures: [ofFormer] },
      /^fail .*: upstream_unreachable \(ENOTFOUND, https:\/\/old\.example\) \| nothing, .*: environments\.sandbox\.baseUrl does not name https:\/\/old\.example any more; see docs/,
    ],
    [
      "a former address as a warning, once requests succeed",
      { failures: [ofFormer], succeededSince: 2 },
      /^warn .*; the 2 since then succeeded \| nothing, unless it fails again: /,
    ],
    [
      "what to do about another failure than that of a former address",
      { failures: [ofFormer, { by: "service", what: "429", count: 1 }] },
      /^fail .* \| send fewer/,
    ],
    [
      "the site of failures that are all of one, and how many kinds it leaves out",
      {
        failures: ["401", "403", "404", "422", "500"].map((what) => {
          return { by: "service", what, count: 1, site: "S1", server: "https://a.example" };
        }),
      },
      /: 1 × 401 by the service \(https:\/\/a\.example, S1\), 1 × 403 .*, 1 × 404 .*\), 2 × others \|/,
    ],
    [
      "a token that the authorization server did not give",
      { failures: [{ by: "countersign", what: "token_unavailable", cause: "ECONNREFUSED", count: 5 }] },
      /^fail .*token_unavailable \(ECONNREFUSED\) \| https:\/\/auth\.example is down; start it; see docs/,
      [{ sites: ["S1"], lastRequest: { detail: "https://auth.example is down", fix: "start it" } }],
    ],
  ] as [string, object, RegExp, object[]?][])("tells %s", async (_, more, says, tokenOutages = []) => {
    const recent = { seconds: 300, requests: 5, failures: [], ...more };
    const at = "2026-11-29T10:02:00Z";
    const sites = [{ identifier: "S2", auth: ["oauth"], failedLately: 0, tally: { lastAt: at } }];
    const status = { at, environments: [{ name: "sandbox", recent, sites, tokenOutages }] };
    const { of } = await diagnoseAt(rawAnswer(200, JSON.stringify(status)));
    expect(of("serve", "sandbox")).toEqual([expect.stringMatching(says)]);
  });

  it("warns of single failures, and prints no foreign text", async () => {
    const failures = [
      { by: "countersign", what: "upstream_timeout", cause: "no\u001b[2J answer", count: 2 },
      { by: "countersign", what: "499", count: 1 },
    ];
    const recent = { seconds: 300, requests: 1_000, failures };
    const { of } = await diagnoseAt(rawAnswer(200, JSON.stringify({ environments: [{ name: "sandbox", recent }] })));
    const said = "3 of 1000 requests of the last 5 min failed: 2 × upstream_timeout (no [2J answer), 1 × 499";
    expect(of("serve", "sandbox")).toEqual([expect.stringMatching(/^warn .*#orders-get-502-or-504$/)]);
    expect(of("serve", "sandbox")[0]).toContain(`: ${said} | see `);
  });

  it.each([
    ["no JSON", rawAnswer(200, "ok")],
    ["other JSON", rawAnswer(200, '{"environments":[{"name":"sandbox","recent":{"requests":"a"}}]}')],
    ["no object", rawAnswer(200, "null")],
    ["too much", rawAnswer(200, " ".repeat(8 * 1_048_576 + 1))],
    ["nothing", ""],
  ])("fails not if another program has the port, and answers %s", async (_, answer) => {
    const { hasFailed, of, port } = await diagnoseAt(answer);
    expect(hasFailed).toBe(false);
    expect(of("serve")[1]).toBe(skipped(port));
  });

  it("says in one line that nothing listens there", async () => {
    const { file, statusPort } = await configureDoctor();
    expect((await diagnose(file, { withToken: false })).of("serve").slice(1)).toEqual([skipped(statusPort)]);
  });

  /** Examines a configuration whose status port has a program that answers so. */
  it.each([
    ["an unknown key", "operationz: 1"],
    ["malformed YAML", "drain: { min: [ }"],
  ])("asks the serve that runs, if the file is refused for %s", async (_, more) => {
    const recent = { seconds: 300, requests: 4, failures: [{ by: "service", what: "503", count: 3 }] };
    const environments = [{ name: "sandbox", baseUrl: "https://api.example/json-api", recent }];
    const answer = rawAnswer(200, JSON.stringify({ environments }));
    const { port } = await startRawUpstream({ answer: (_, socket) => void socket.write(answer) });
    const { file, folder, statusPort } = await configureDoctor();
    const moved = readFileSync(file, "utf8").replace(`:${statusPort}"`, `:${port}"`);
    const refused = folder.write("refused.yaml", `${moved}\n${more}\n`);
    const { exitCode, stdout, stderr } = await runDoctor(["--config", refused]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining("nothing else was checked.") });
    expect(stdout).toMatch(
      /^fail {2}serve .* sandbox .*: 3 of 4 requests of the last 5 min failed: 503 .*\n {6}fix: see/,
    );
    const programs = await runDoctor(["--config", refused, "--json"]);
    expect(JSON.parse(programs.stdout)).toMatchObject({ ok: false, checks: [{ topic: "serve", verdict: "fail" }] });
  });

  async function diagnoseAt(answer: string, parts: Parts = {}) {
    const { file, folder, statusPort } = await configureDoctor(parts);
    const { port } = await startRawUpstream({ answer: (_, socket) => void (answer && socket.write(answer)) });
    const moved = readFileSync(file, "utf8").replace(`:${statusPort}"`, `:${port}"`);
    return { ...(await diagnose(folder.write("moved.yaml", moved), { withToken: false })), port };
  }
});

type Parts = NonNullable<Parameters<typeof configureDoctor>[0]>;

/** Examines a sound configuration with these parts added. */
async function diagnoseWith(parts: Parts): Promise<Diagnosis> {
  return diagnose((await configureDoctor(parts)).file, { withToken: false });
}
