import { expect, it } from "vitest";
import type { Simulator } from "../../../simulator/src/service/simulator.ts";
import { startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { blueSites, configureDoctor, diagnose, openFolder, startService } from "./doctor-runs.ts";

// What the doctor reports about credential sets, and how many token requests it makes; the authorization server counts them.

const asked = ({ seen }: Simulator) => seen.tokenRequests.filter(({ method }) => method === "POST").length;

it.each([
  {
    what: "a refusal with what may be wrong, and where the secret is",
    fault: { kind: "answer", status: 401 },
    says: /: http:\S+ refuses the set \(401\) \| compare client id \(blue-id\), secret \(file DIR\/blue\/client-secret\) and audience \(https:\/\/api\.sandbox\.example\) with what the service has; the set may be deleted, or another environment's$/,
  },
  {
    what: "429 with Retry-After",
    fault: { kind: "answer", status: 429, headers: { "retry-after": "7200" } },
    says: /: http:\S+ gets too many token requests \(429\), to be tried again in 2 h \| wait; if it lasts, see what else requests tokens/,
  },
  {
    what: "500",
    fault: { kind: "answer", status: 500 },
    says: /: http:\S+ is in trouble \(500\) \| wait; if it lasts, that is its owner's to fix$/,
  },
  {
    what: "a redirect",
    fault: { kind: "answer", status: 302, headers: { location: "https://elsewhere.invalid/" } },
    says: /: http:\/\/127\.0\.0\.1:\d+\/oauth\/token is no token endpoint \(302\) \| correct environments\.sandbox\.authUrl: .* no redirect is followed$/,
  },
  {
    what: "200 and something else",
    fault: { kind: "answer", status: 200, body: "<html>canary</html>" },
    says: /: http:\S+ answers, but not with a token \(200, not a JSON object\) \| see what is at http:\S+\/oauth\/token: environments\.sandbox\.authUrl may lead to something else, such as a web page$/,
  },
  {
    what: "half an answer",
    fault: { kind: "truncate" },
    says: /: http:\S+ gives no complete answer \([A-Z_]+\) \| if it lasts, see what stands between/,
  },
] as const)("reports $what, and requests a token once", async ({ fault, says }) => {
  const { simulator, folder, file } = await configureDoctor();
  // The HEAD has no client id, so this fault does not affect it.
  simulator.faults.add({ host: "login", clientId: "blue-id", ...fault });
  const { hasFailed, of } = await diagnose(file);
  expect(hasFailed).toBe(true);
  const lines = of("token").map((line) => line.replaceAll(folder.path, "DIR"));
  expect(lines).toEqual([expect.stringMatching(new RegExp(`^fail S1/blue${says.source}`))]);
  expect(asked(simulator)).toBe(1);
});

it("requests no token while the authorization server cannot be reached", async () => {
  const simulator = await startService();
  const { write } = await openFolder();
  const login = await startRawUpstream();
  const sandbox = `baseUrl: "${simulator.apiUrl}", authUrl: "https://127.0.0.1:${login.port}", allowPlaintext: true, ${blueSites}`;
  const { hasFailed, of } = await diagnose(write({ environments: { sandbox } }));
  expect(hasFailed).toBe(true);
  expect(of("token")).toEqual(["skipped S1/blue: the authorization server cannot be reached"]);
  const key = "keys: [ { identifier: K1, secret: { file: DIR/k1 } } ]";
  const bridged = sandbox.replace("S1: {", `S1: { auth: [oauth, hmac], bridge: hmac, ${key},`);
  expect((await diagnose(write({ environments: { sandbox: bridged } }))).of("token")).toEqual([
    "skipped S1/blue: the authorization server cannot be reached; meanwhile orders of S1 are signed (bridge: hmac)",
  ]);
});

it("shares the token that it requests, requests none if one is shared, and respects the back-off of the replicas", async () => {
  const redis = await startRedis();
  const { simulator, folder, file } = await configureDoctor({ redis: `url: "${redis.url}"` });
  const withoutToken = await diagnose(file, { withToken: false });
  expect(withoutToken.of("token")).toEqual(["skipped S1/blue: not requested (--no-token)"]);
  expect(asked(simulator)).toBe(0);
  const first = await diagnose(file);
  expect(first.of("token")).toEqual(["ok S1/blue: issued, valid for 24 h, and shared from now on"]);
  const second = await diagnose(file);
  expect(second.of("token")).toEqual([
    "ok S1/blue: in the shared cache, valid for another 23 h; no other was requested",
  ]);
  expect(second.of("redis")).toContain("ok encryptionKeys: decrypt the values in the cache (1)");
  expect(asked(simulator)).toBe(1);

  // Another replica has encrypted with another key: its value stays.
  const [name] = [await redis.command("KEYS", "countersign:*:token")].flat();
  const value = await redis.command("GET", String(name));
  folder.write("token-key", "fedcba9876543210".repeat(4));
  const third = await diagnose(file);
  expect(third.of("redis")).toContainEqual(
    expect.stringMatching(/^warn encryptionKeys: 1 of 1 values .* cannot be decrypted \| give every replica the same/),
  );
  expect(third.of("token")).toEqual([
    "ok S1/blue: issued, valid for 24 h, not kept, since another value is in its place",
  ]);
  expect(await redis.command("GET", String(name))).toBe(value);
  expect(asked(simulator)).toBe(2);

  // The authorization server has told a replica to wait.
  const endpoint = String(name).replace(/token$/, "endpoint");
  await redis.command("SET", endpoint, "throttled 429 1 3600000", "PX", 3_660_000);
  const fourth = await diagnose(file);
  expect(fourth.of("token")).toEqual([
    expect.stringMatching(
      /^fail S1\/blue: a replica reports: .* too many token requests \(429\), and it is asked again by itself in \d+ min \| wait/,
    ),
  ]);
  // Its answer was a web page, or a redirect: the fix is that of an answer to this run.
  for (const [status, fix] of [
    [
      200,
      /answers, but not with a token \(200\), and .* \| see what is at \S+: \S+\.authUrl may lead to something else/,
    ],
    [302, /is no token endpoint \(302\), and .* \| correct environments\.sandbox\.authUrl: /],
    [500, /is in trouble \(500\), and .* \| wait; if it lasts, that is its owner's to fix$/],
  ] as const) {
    await redis.command("SET", endpoint, `failing ${status} 1 3600000`, "PX", 3_660_000);
    expect((await diagnose(file)).of("token")).toEqual([
      expect.stringMatching(new RegExp(`^fail S1/blue: a replica reports: http:\\S+ ${fix.source}`)),
    ]);
  }
  expect(asked(simulator)).toBe(2);
});

it("accepts a shared token up to its leeway, even if the authorization server refuses", async () => {
  const redis = await startRedis();
  const service = { tokenLifetimeSeconds: 86_400 };
  const { simulator, file } = await configureDoctor({ service, redis: `url: "${redis.url}"` });
  await diagnose(file);
  const [name] = [await redis.command("KEYS", "countersign:*:token")].flat().map(String);
  const live = async (remainingMs: number) => {
    const value = String(await redis.command("GET", name ?? ""));
    const issuedAtMs = Date.now() - (86_400_000 - remainingMs);
    await redis.command("SET", name ?? "", value.replace(/^1:\d+/, `1:${issuedAtMs}`), "PX", remainingMs);
  };
  await live(7_800_000);
  const unasked = expect.stringMatching(
    /^ok S1\/blue: in the shared cache, valid for another 2 h \d min; no other was/,
  );
  expect((await diagnose(file, { withToken: false })).of("token")).toEqual([unasked]);
  simulator.deleteCredentials("blue-id");
  const refused = await diagnose(file);
  expect(refused.of("token")).toEqual([
    expect.stringMatching(
      /^warn S1\/blue: in the shared cache, valid for another 2 h \d min, and due; http:\S+ refuses the set \(401, access_denied\)/,
    ),
  ]);
  await live(100_000);
  expect((await diagnose(file)).of("token")).toEqual([
    expect.stringMatching(/^fail S1\/blue: http:\S+ refuses the set \(401, access_denied\)/),
  ]);
  simulator.restoreCredentials("blue-id");
  await live(7_800_000);
  expect((await diagnose(file)).of("token")).toEqual(["ok S1/blue: issued, valid for 24 h, and shared from now on"]);
});

it("requests tokens for a sample of many credential sets, says so, and for all on request", async () => {
  const simulator = await startService();
  const { write } = await openFolder();
  const sites = Array.from({ length: 30 }, (_, n) => {
    const set = `{ name: blue, clientId: c${n}, clientSecret: { file: DIR/k1 }, audience: "https://api.example" }`;
    return `S${n + 1}: { credentials: [ ${set} ] }`;
  });
  const sandbox = `baseUrl: "${simulator.apiUrl}", authUrl: "${simulator.loginUrl}", allowPlaintext: true, sites: { ${sites.join(", ")} }`;
  const file = write({ environments: { sandbox } });
  const lines = (await diagnose(file)).of("token");
  expect(asked(simulator)).toBe(10);
  expect(lines.length).toBe(11);
  expect(lines.at(-1)).toBe(
    "skipped other credential sets: 20 of 30 credential sets are not checked; --all-tokens checks every one",
  );
  expect((await diagnose(file, { allTokens: true })).of("token").length).toBe(30);
  expect(asked(simulator)).toBe(10 + 30);
});
