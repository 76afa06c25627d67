import { expect, it } from "vitest";
import { authority, expiredCertificate, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { startServe } from "../../../testkit/run-program.ts";
import { blueSites, configureDoctor, diagnose, openFolder, runDoctor, startService } from "./doctor-runs.ts";

// `countersign doctor` as people, programs and `kubectl exec` use it. No run prints a secret.

const took = "(?: \\(\\d+ ms\\))?";

it("prints ok for each check, requests no token if one is shared, and exits with 0", async () => {
  const simulator = await startService({ tls: { key: serverKey, cert: serverCertificate } });
  const redis = await startRedis();
  const { write, adminPort, statusPort } = await openFolder({ ca: authority });
  const [base = "", auth = ""] = [simulator.apiUrl, simulator.loginUrl].map((url) =>
    url.replace("127.0.0.1", "localhost"),
  );
  const sandbox = `baseUrl: "${base}", authUrl: "${auth}", tls: { caFile: DIR/ca }, ${blueSites}`;
  const file = write({ environments: { sandbox }, redis: `url: "${redis.url}"`, more: "log: { level: debug }" });
  const proxy = await startServe(file);
  await proxy.line((line) => line.includes('"event":"token_adopted"'));

  const { exitCode, stdout, stderr } = await runDoctor(["--config", file]);
  const [api, login] = [base, auth].map((url) => new URL(url).host);
  const certificate = "TLSv1\\.3, certificate of localhost by Countersign test CA, valid for another \\d{5} days";
  const cache = `redis            cache redis://127\\.0\\.0\\.1:${redis.port}`;
  const lines = [
    `config           ${file}: 1 environment, 1 listener, hash [0-9a-f]{12}`,
    "config           secrets: read from 3 files, as user \\d+, group \\d+",
    "dns     sandbox  localhost: [0-9a-f.:, ]+",
    "dns     sandbox  localhost: [0-9a-f.:, ]+",
    `tls     sandbox  ${api}: ${certificate}`,
    `tls     sandbox  ${login}: ${certificate}`,
    `http    sandbox  ${api}: it answers HEAD / \\(404\\)`,
    `http    sandbox  ${login}: it answers HEAD / \\(404\\)`,
    `clock   sandbox  ${api}: our clock agrees with its Date`,
    `clock   sandbox  ${login}: our clock agrees with its Date`,
    "token   sandbox  S1/blue: in the shared cache, valid for another 23 h; no other was requested",
    `${cache}: answers to the user countersign, version [\\d.]+`,
    `${cache}: 20 round trips: median [\\d.]+ ms, longest [\\d.]+ ms`,
    `${cache}: every command that is needed works: set, get, .*, del`,
    `${cache}: maxmemory-policy noeviction, 0 keys evicted since its start`,
    "redis            encryptionKeys: decrypt the values in the cache \\(1\\)",
    `serve            admin 127\\.0\\.0\\.1:${adminPort}: runs with this configuration \\([0-9a-f]{12}\\), and is ready`,
  ];
  const sum = [
    "No check failed: 17 ok, 0 with a warning, 0 failed, 1 skipped\\.",
    "Not checked: the path of baseUrl in sandbox, whether sandbox accepts the tokens\\. Only a real request checks this: --send '{…}' --operation NAME\\.",
  ].join("\n");
  const whole = lines.map((line) => `ok    ${line}${took}\n`).join("");
  const idle = `skip  serve   sandbox  status 127\\.0\\.0\\.1:${statusPort}: no request in the last 5 min\n`;
  expect(stdout).toMatch(new RegExp(`^${whole}${idle}\n${sum}\n$`));
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  // One HEAD / for each host, without a body or a credential, in addition to the proxy's own token request.
  const { apiRequests, tokenRequests } = simulator.seen;
  const asked = [...apiRequests, ...tokenRequests.filter(({ method }) => method !== "POST")];
  expect(asked.map(({ method, target }) => `${method} ${target}`)).toEqual(["HEAD /", "HEAD /"]);
  for (const { rawHeaders } of asked) expect(rawHeaders.join(" ")).not.toMatch(/authorization|cookie|content-/i);
  expect(simulator.counts().tokensIssued).toBe(1);
  expect(await redis.command("KEYS", "*probe*")).toEqual([]);
});

it("prints each fault with its fix, and exits with 1; programs get the same as JSON", async () => {
  const simulator = await startService({ tls: { key: serverKey, cert: expiredCertificate } });
  const login = await startService();
  login.changeClientSecret("blue-id", "canary-another-secret");
  const redis = await startRedis();
  await redis.command("ACL", "SETUSER", "countersign", "-pttl");
  const { write } = await openFolder({ ca: authority });
  const { host } = new URL(simulator.apiUrl);
  const sandbox = `baseUrl: "${simulator.apiUrl}", authUrl: "${login.loginUrl}", allowPlaintext: true, tls: { caFile: DIR/ca }, ${blueSites}`;
  const file = write({ environments: { sandbox }, redis: `url: "${redis.url}"` });
  const { exitCode, stdout, stderr } = await runDoctor(["--config", file]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
  const fix = " {6}fix: \\S.*";
  const printed = stdout.split("\n");
  const faults = printed.flatMap((line, index) =>
    /^(warn|fail)/.test(line) ? [`${line}\n${printed[index + 1]}`] : [],
  );
  expect(faults).toEqual([
    expect.stringMatching(`^fail  tls     sandbox  ${host}: its certificate has expired \\d+ days ago .*\n${fix}$`),
    expect.stringMatching(`^warn  tls     sandbox  \\S+: connected, without TLS .*\n${fix}$`),
    expect.stringMatching(
      `^fail  token   sandbox  S1/blue: http:\\S+ refuses the set \\(401, access_denied\\)${took}\n${fix}$`,
    ),
    expect.stringMatching(`^fail  redis            cache \\S+: the user countersign may not PTTL${took}\n${fix}$`),
    expect.stringMatching(`^warn  serve            admin \\S+: nothing listens there, so serve .*\n${fix}$`),
  ]);
  expect(stdout).toMatch(/\nSomething has to be fixed: \d+ ok, 2 with a warning, 3 failed, 3 skipped\.\nNot/);

  const programs = await runDoctor(["--config", file, "--json", "--no-token"]);
  expect(programs).toMatchObject({ exitCode: 1, stderr: "" });
  const { ok, sum, configHash, checks } = JSON.parse(programs.stdout);
  expect({ ok, sum }).toMatchObject({ ok: false, sum: { warn: 2, fail: 2, skipped: 4 } });
  expect(configHash).toMatch(/^[0-9a-f]{12}$/);
  expect(checks).toContainEqual({
    topic: "tls",
    environment: "sandbox",
    subject: host,
    verdict: "fail",
    detail: expect.stringContaining("(CERT_HAS_EXPIRED)"),
    fix: expect.stringContaining("its owner has to renew it"),
    tookMs: expect.any(Number),
  });
});

it("needs no environment variables, no shell and no other programs", async () => {
  const { file } = await configureDoctor();
  const { exitCode, stderr, stdout } = await runDoctor(["--config", file], {});
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toMatch(/^ok {4}token {3}sandbox {2}S1\/blue: issued, valid for 24 h, not kept/m);
  expect(stdout).not.toContain("\u001b");
  const named = await runDoctor(["--no-token"], { COUNTERSIGN_CONFIG: file, PATH: "" });
  expect(named.exitCode).toBe(0);
});

it("refuses a configuration with every problem that it has, for people and for programs", async () => {
  const messages = ["the secret is empty", "tokens.cache is redis, but there is no section redis"];
  const files = { "blue/client-secret": "" };
  const { file } = await configureDoctor({ more: "tokens: { cache: redis }", files });
  const people = await runDoctor(["--config", file]);
  expect(people).toMatchObject({ exitCode: 2, stdout: "" });
  expect(people.stderr.match(/^ {4}fix {4}\S/gm)).toHaveLength(messages.length);
  for (const message of messages) expect(people.stderr).toContain(message);
  expect(people.stderr).toContain(
    "A serve that runs keeps its former configuration: its status page has what its requests get now.",
  );
  const programs = await runDoctor(["--config", file, "--json"]);
  expect(programs).toMatchObject({ exitCode: 2, stderr: "" });
  expect(JSON.parse(programs.stdout)).toMatchObject({ ok: false, problems: messages.map((message) => ({ message })) });
});

it("reports the warnings of the configuration in one line", async () => {
  const sites = "sites: { S1: { keys: [ { identifier: K1, secret: { file: DIR/short } } ] } }";
  const { folder, file } = await configureDoctor({ sites });
  folder.write("short", "canary", 0o644);
  const { hasFailed, of } = await diagnose(file);
  expect(hasFailed).toBe(false);
  // `check` prints each with its place and its fix, and they would hide what has failed.
  expect(of("config").slice(2)).toEqual([
    `warn ${file}: 3 warnings (hmac_for_existing_clients, secret_readable_by_all, secret_short) | countersign check says what to do about each`,
  ]);
  expect(of("token")).toEqual([
    expect.stringMatching(/^skipped .*: no site has credentials, so the authorization server/),
  ]);
});
