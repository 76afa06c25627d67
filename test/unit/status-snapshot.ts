import type { RecentStep } from "../../src/adapters/stats/recent-requests.ts";
import type { SiteStatus, StatusSnapshot, UnknownOutcome } from "../../src/adapters/stats/stats.ts";
import type { Tally } from "../../src/adapters/stats/sums.ts";
import type { CredentialStatus } from "../../src/adapters/stats/token-stats.ts";

const atMs = Date.parse("2026-03-14T03:12:40.218Z");
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A moment this long before the snapshot. */
export function ago(ms: number): string {
  return new Date(atMs - ms).toISOString();
}

const requestIds = [
  "5b1e0a4f-2c77-4a0e-9a55-0f7d3f1c9e21",
  "c04d7e12-91b8-4f36-8e0a-6b2f95d3a7c4",
  "e8a3f650-0d19-47bc-b2f1-39c6d80e5a1b",
] as const;

const untouched: Tally = { answeredBy: { service: 0, countersign: 0 }, lastAt: undefined, failures: {}, refusals: {} };

const idle = {
  seconds: 300,
  requests: 0,
  perSecond: 0,
  medianMs: undefined,
  p95Ms: undefined,
  failures: [],
  failingSites: [],
  lastFailedAt: undefined,
  succeededSince: 0,
  othersSince: 0,
  failedInRow: 0,
  notJson: [],
};

/** A night on which nothing has gone wrong. */
export const quietNight: StatusSnapshot = {
  at: ago(0),
  version: "0.1.0",
  runtime: "v24.21.0",
  host: "shop-7d9f8c6b54-x2k4q",
  startedAt: ago(52 * hourMs),
  configHash: "3f9a61c0d2be",
  docsUrl: undefined,
  readiness: { isReady: true, reason: "ok" },
  requests: {
    inFlight: 2,
    answeredBy: { service: 48_112, countersign: 0 },
    unknownOutcomes: 0,
    settledOutcomes: 0,
    failures: {},
  },
  droppedLogLines: 0,
  unknownOutcomes: [],
  environments: [
    {
      name: "production",
      baseUrl: "https://api.example/json-api",
      authUrl: "https://login.example",
      tokenUrls: undefined,
      operations: ["create_order", "get_order"],
      defaultSite: "S1000000001",
      answers: { service: { "2xx": 47_980, "4xx": 132 }, countersign: {} },
      recent: {
        seconds: 300,
        requests: 1_290,
        perSecond: 4.3,
        medianMs: 50,
        p95Ms: 250,
        failures: [],
        failingSites: [],
        lastFailedAt: undefined,
        succeededSince: 48_112,
        othersSince: 0,
        failedInRow: 0,
        notJson: [],
        steps: stepsOf((index) => ({ succeeded: 37 + ((index * 7) % 13), mistaken: 0, failed: 0, unknown: 0 })),
      },
      tokenOutages: [],
      bridgedOutages: [],
      clockSkewSeconds: 0.2,
      refusedSiteFiles: undefined,
      withoutSite: { ...untouched, failedLately: 0 },
      sites: [
        describeSite("S1000000001", { tally: answered(41_070, 800) }),
        describeSite("S1000000002", { parent: "S1000000001", tally: answered(7_042, 4 * minuteMs) }),
        describeSite("S1000000003", { auth: ["hmac"], credentials: [] }),
      ],
    },
  ],
  callbacks: [
    {
      environment: "production",
      listener: ":7414",
      application: "http://127.0.0.1:8080/callbacks",
      results: {
        delivered: { count: 9_318, lastAt: ago(2_100) },
        repeated: { count: 12, lastAt: ago(26 * hourMs) },
        signature_wrong: { count: 4, lastAt: ago(9 * hourMs) },
      },
      unguarded: 0,
      recent: { ...idle, steps: stepsOf(() => ({ succeeded: 0, mistaken: 0, failed: 0, unknown: 0 })) },
      lastFailure: {
        at: ago(9 * hourMs),
        result: "signature_wrong",
        status: 401,
        cause: undefined,
        server: undefined,
        site: "S1000000001",
        requestId: "0b3c7a52-6f8e-4a1d-9c47-d1e5f2a90b36",
      },
    },
  ],
  credentials: [describeCredential("S1000000001/blue", 24 * minuteMs), spare("S1000000001/green")],
  redis: [
    {
      node: "cache",
      address: "redis://cache:6379",
      isUp: true,
      since: ago(52 * hourMs),
      failure: undefined,
      cause: undefined,
    },
  ],
  reload: {
    inForceSince: ago(5 * hourMs),
    trigger: "file_change",
    routes: ["127.0.0.1:7411 leads to production: https://api.example/json-api (create_order, get_order)"],
    lastRefused: undefined,
  },
  configuration: {},
};

const ofOrders = { server: "https://api.example", auth: "oauth", operation: "create_order" } as const;

const tallies: Readonly<Record<string, Tally>> = {
  S1000000001: {
    ...fail(41_070, 2, {
      upstream_timeout: { count: 1, lastAt: ago(70_000) },
      upstream_reset: { count: 1, lastAt: ago(11 * minuteMs) },
    }),
    refusals: { "401": { count: 1, lastAt: ago(50 * minuteMs) } },
  },
  S1000000002: fail(7_042, 1, { upstream_timeout: { count: 1, lastAt: ago(95_000) } }),
};

/** The same night with unknown outcomes, callbacks that the application declines, a refused set, Redis away and a refused configuration. */
export const badNight: StatusSnapshot = {
  ...quietNight,
  requests: {
    inFlight: 3,
    answeredBy: { service: 48_112, countersign: 31 },
    unknownOutcomes: 3,
    settledOutcomes: 0,
    failures: { upstream_timeout: 2, upstream_reset: 1, operation_not_allowed: 28 },
  },
  unknownOutcomes: [
    doubt(70_000, { reference: "A-1042", code: "upstream_timeout", requestId: requestIds[0] }),
    doubt(95_000, { reference: "A-1039", code: "upstream_timeout", site: "S1000000002", requestId: requestIds[1] }),
    doubt(11 * minuteMs, { code: "upstream_reset", stage: "stream_answer", requestId: requestIds[2] }),
  ],
  environments: quietNight.environments.map((environment) => ({
    ...environment,
    answers: { service: { "2xx": 47_978, "4xx": 134 }, countersign: { "4xx": 28, "5xx": 3 } },
    recent: {
      ...environment.recent,
      failures: [
        { by: "countersign", what: "upstream_timeout", cause: "no answer", count: 2, ...ofOrders },
        { by: "service", what: "404", count: 1, ...ofOrders, operation: "get_order" },
      ],
      lastFailedAt: ago(70_000),
      succeededSince: 240,
      failedInRow: 1,
      steps: environment.recent.steps.map((step, index) =>
        index === 20 ? { succeeded: 30, mistaken: 0, failed: 1, unknown: 2 } : step,
      ),
    },
    withoutSite: {
      ...fail(0, 28, { operation_not_allowed: { count: 28, lastAt: ago(2 * hourMs) } }),
      failedLately: 0,
    },
    sites: environment.sites.map((site) => ({ ...site, tally: tallies[site.identifier] ?? site.tally })),
  })),
  callbacks: quietNight.callbacks.map((listener) => ({
    ...listener,
    results: { ...listener.results, application_unreachable: { count: 37, lastAt: ago(1_200) } },
    unguarded: 3,
    lastFailure: {
      at: ago(1_200),
      result: "application_unreachable",
      status: 502,
      cause: "ECONNREFUSED",
      server: "http://127.0.0.1:8080",
      site: "S1000000002",
      requestId: requestIds[1],
    },
  })),
  credentials: [
    {
      ...describeCredential("S1000000001/blue", 53 * minuteMs),
      isActive: false,
      requests: { issued: { count: 51, lastAt: ago(53 * minuteMs) }, refused: { count: 2, lastAt: ago(6_000) } },
      lastRequest: {
        at: ago(6_000),
        result: "refused",
        reason: "due",
        status: 401,
        detail: "https://login.example refuses the set (401)",
        fix: "compare client id (blue-id), secret (file /etc/countersign/blue/client-secret) and audience (https://api) with what the service has",
      },
      failingSince: ago(8_000),
      nextTryAt: ago(-4_000),
    },
    {
      ...describeCredential("S1000000001/green", 12 * minuteMs),
      token: { ...life(12 * minuteMs), issuedHere: false, reason: "missing" },
    },
  ],
  redis: [
    {
      node: "cache",
      address: "redis://cache:6379",
      isUp: false,
      since: ago(7 * minuteMs),
      failure: "connection",
      cause: "ECONNREFUSED",
    },
  ],
  reload: {
    ...quietNight.reload,
    lastRefused: {
      at: ago(3 * minuteMs),
      trigger: "file_change",
      problems: [
        "line 22, environments.production.sites.S1000000003.keys: there is no default key; mark one with default: true",
      ],
      problemCount: 1,
      isPending: true,
    },
  },
};

export const unanswered = {
  at: ago(6_000),
  result: "timed_out",
  reason: "missing",
  status: undefined,
  cause: "no answer",
  detail: "https://login.example does not answer in time (no answer)",
  fix: "see why it does not answer, or what holds its answers back",
} as const;

/** A night on which no site gets a token, and the service no longer accepts the last ones. */
export const darkNight: StatusSnapshot = {
  ...quietNight,
  environments: quietNight.environments.map((environment) => ({
    ...environment,
    recent: {
      ...environment.recent,
      requests: 40,
      perSecond: 0.133,
      p95Ms: undefined,
      failures: [
        { by: "countersign", what: "token_unavailable", count: 20 },
        { by: "service", what: "401", count: 12 },
      ],
      lastFailedAt: ago(2_000),
      succeededSince: 0,
      steps: stepsOf((index) => ({
        succeeded: index < 8 ? 1 : 0,
        mistaken: 0,
        failed: index < 8 ? 0 : index % 3,
        unknown: 0,
      })),
    },
    tokenOutages: [
      {
        sites: ["S1000000001", "S1000000002"],
        sets: ["S1000000001/blue", "S1000000001/green"],
        since: ago(17 * minuteMs),
        lastRequest: unanswered,
        nextTryAt: ago(-9_000),
      },
    ],
  })),
  credentials: ["S1000000001/blue", "S1000000001/green"].map((credential) => ({
    ...spare(credential),
    lastUsedAt: ago(18 * minuteMs),
    requests: { issued: { count: 51, lastAt: ago(77 * minuteMs) }, timed_out: { count: 40, lastAt: ago(6_000) } },
    lastRequest: unanswered,
    failingSince: ago(17 * minuteMs),
    nextTryAt: ago(-9_000),
  })),
};

function stepsOf(make: (index: number) => RecentStep): RecentStep[] {
  return Array.from({ length: 30 }, (_, index) => make(index));
}

function describeSite(identifier: string, change: Partial<SiteStatus>): SiteStatus {
  const credentials = ["S1000000001/blue", "S1000000001/green"];
  return {
    identifier,
    parent: undefined,
    auth: ["oauth"],
    bridge: undefined,
    credentials,
    tally: untouched,
    failedLately: 0,
    ...change,
  };
}

/** A tally of requests that the service answered. */
function answered(count: number, agoMs: number): Tally {
  return { ...untouched, answeredBy: { service: count, countersign: 0 }, lastAt: ago(agoMs) };
}

function fail(service: number, countersign: number, failures: Tally["failures"]): Tally {
  return { ...untouched, answeredBy: { service, countersign }, lastAt: ago(900), failures };
}

function doubt(agoMs: number, change: Partial<UnknownOutcome>): UnknownOutcome {
  return {
    at: ago(agoMs),
    environment: "production",
    site: "S1000000001",
    operation: "create_order",
    caller: "shop",
    reference: undefined,
    requestId: requestIds[0],
    code: undefined,
    status: undefined,
    stage: "send",
    settled: undefined,
    ...change,
  };
}

function life(ageMs: number) {
  const remainingMs = hourMs - ageMs;
  return { issuedAt: ago(ageMs), expiresAt: ago(-remainingMs), lifetimeMs: hourMs, remainingMs };
}

function describeCredential(credential: string, ageMs: number): CredentialStatus {
  return {
    environment: "production",
    credential,
    isActive: true,
    token: { ...life(ageMs), issuedHere: true, reason: "due" },
    lastUsedAt: ago(800),
    requests: { issued: { count: 51, lastAt: ago(ageMs) } },
    lastRequest: { at: ago(ageMs), result: "issued", reason: "due", status: 200 },
    failingSince: undefined,
    nextTryAt: undefined,
  };
}

function spare(credential: string): CredentialStatus {
  const nothingYet = { token: "none", lastUsedAt: undefined, requests: {}, lastRequest: undefined } as const;
  return { ...describeCredential(credential, 0), isActive: false, ...nothingYet };
}
