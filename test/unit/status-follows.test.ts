/** When another configuration comes into force: what stays keeps its history, what is new begins, the rest is forgotten. */
import { describe, expect, it } from "vitest";
import { StatusModel } from "../../src/adapters/status/model.ts";
import { Readiness } from "../../src/adapters/status/readiness.ts";
import type { CredentialSet, Environment, Site } from "../../src/model/environment.ts";
import type { RequestFinished } from "../../src/model/events.ts";
import { Secret } from "../../src/model/secret.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

const address = { origin: "https://api.example", scheme: "https", host: "api.example", port: 443, path: "" } as const;

/** A site with OAuth and sets of these names. */
function site(identifier: string, ...names: readonly [string, ...string[]]): Site {
  const make = (name: string): CredentialSet => {
    return { label: `${identifier}/${name}`, name, clientId: name, clientSecret: new Secret(name), audience: "a" };
  };
  const [first, ...rest] = names;
  return {
    identifier,
    parent: undefined,
    version: "3.0",
    auth: ["oauth"],
    identifyBy: "site",
    characters: "reject",
    exempt: new Set(),
    decimals: new Set(),
    keys: [],
    defaultKey: undefined,
    credentials: { owner: identifier, sets: [make(first), ...rest.map(make)] },
  };
}

/** An environment whose first site is the default one. */
function environment(name: string, ...sites: readonly Site[]): Environment {
  return {
    name,
    baseUrl: address,
    authUrl: address,
    operations: "any",
    defaultSite: sites[0]?.identifier,
    sites: new Map(sites.map((each) => [each.identifier, each])),
    siteOfKey: new Map(),
    undecided: new Set(),
    forwardHeaders: [],
    via: true,
    tls: { ca: undefined, cert: undefined, key: undefined },
  };
}

function adopted(environment: string, credential: string) {
  const life = { lifetimeMs: 3_600_000, remainingMs: 3_600_000 };
  return { kind: "token_adopted", environment, credential, issuedHere: true, reason: "start", ...life } as const;
}

function finished(change: Partial<RequestFinished>): RequestFinished {
  return {
    kind: "request_finished",
    environment: "sandbox",
    requestId: "r",
    traceId: undefined,
    reference: undefined,
    site: "S1",
    auth: "oauth",
    operation: "create_order",
    operationLabel: "create_order",
    status: 200,
    by: "service",
    outcome: "answered",
    code: undefined,
    stage: "stream_answer",
    attempts: 1,
    admitted: false,
    durationMs: 1,
    upstreamMs: 1,
    overheadMs: 1,
    callerLeft: false,
    ...change,
  };
}

const started = { kind: "started", version: "", configHash: "", routes: ["a"], admin: "", status: "" } as const;

function openBoard(...environments: readonly Environment[]) {
  const clock = new FakeClock();
  const board = new StatusModel(clock);
  board.follow(environments, []);
  return { board, clock };
}

describe("the status board", () => {
  it("keeps the tokens of sets that stay, opens new ones and forgets the others", () => {
    const { board } = openBoard(environment("sandbox", site("S1", "blue", "green"), site("S2", "own")));
    board.report(adopted("sandbox", "S1/blue"));
    board.follow([environment("sandbox", site("S1", "blue", "red")), environment("live", site("S9", "own"))], []);
    const { credentials } = board.view();
    expect(credentials).toMatchObject([
      { environment: "sandbox", credential: "S1/blue", isActive: true, token: { lifetimeMs: 3_600_000 } },
      { environment: "sandbox", credential: "S1/red", isActive: false, token: "none" },
      { environment: "live", credential: "S9/own", isActive: true, token: "none" },
    ]);
    expect(credentials).toHaveLength(3);
    board.report(adopted("sandbox", "S1/green"));
    expect(board.view().credentials).toEqual(credentials);
  });

  it("knows which set is in use: the one that was, or the first when that has gone", () => {
    const { board } = openBoard(environment("sandbox", site("S1", "blue", "green")));
    const switched = { environment: "sandbox", site: "S1", from: "S1/blue", to: "S1/green" };
    board.report({ kind: "credential_switched", ...switched });
    const active = () => board.view().credentials.filter(({ isActive }) => isActive);
    board.follow([environment("sandbox", site("S1", "red", "green"))], []);
    expect(active()).toMatchObject([{ credential: "S1/green" }]);
    board.follow([environment("sandbox", site("S1", "red"))], []);
    expect(active()).toMatchObject([{ credential: "S1/red" }]);
  });

  it("keeps counts of sites that stay, and unknown outcomes whatever has gone", () => {
    const { board } = openBoard(environment("sandbox", site("S1", "a")), environment("old", site("S7", "a")));
    board.report(finished({}));
    board.report(finished({ environment: "old", site: "S7", outcome: "unknown", by: "countersign", reference: "A-1" }));
    board.follow([environment("sandbox", site("S1", "a"), site("S2", "b"))], []);
    board.report(finished({ environment: "old", site: "S7" }));
    const { environments, requests, unknownOutcomes } = board.view();
    expect(environments.map(({ name, sites }) => [name, sites.map(({ tally }) => tally.answeredBy.service)])).toEqual([
      ["sandbox", [1, 0]],
    ]);
    expect(requests).toMatchObject({ answeredBy: { service: 2, countersign: 1 }, unknownOutcomes: 1 });
    expect(unknownOutcomes).toMatchObject([{ environment: "old", site: "S7", reference: "A-1" }]);
  });

  it("follows the Redis servers in use", () => {
    const { board } = openBoard();
    expect(board.view().redis).toEqual([]);
    board.follow([], ["cache", "lock-2"]);
    board.report({ kind: "redis_up", node: "cache", awayMs: undefined });
    board.report({ kind: "redis_down", node: "lock-2", failure: "timeout" });
    board.report({ kind: "redis_down", node: "lock-3", failure: "timeout" });
    board.follow([], ["cache", "lock-2"]);
    expect(board.view().redis).toMatchObject([
      { node: "cache", isUp: true },
      { node: "lock-2", isUp: false, failure: "timeout" },
    ]);
    board.follow([], ["cache"]);
    expect(board.view().redis).toMatchObject([{ node: "cache", isUp: true }]);
  });

  it("tells since when a configuration is in force, and of the last that was refused until it is fixed", async () => {
    const { board, clock } = openBoard();
    board.report(started);
    const { inForceSince } = board.view().reload;
    board.report({ kind: "config_refused", hash: "h", trigger: "sighup", problems: Array(51).fill("p") });
    const refused = { trigger: "sighup", problems: Array(50).fill("p"), problemCount: 51, isPending: true };
    expect(board.view().reload).toMatchObject({ inForceSince, trigger: "start", routes: ["a"], lastRefused: refused });
    board.report({ kind: "config_unchanged", hash: "h" });
    expect(board.view().reload.lastRefused?.isPending).toBe(false);
    board.report({ kind: "config_refused", hash: "h", trigger: "file_change", problems: ["q"] });
    expect(board.view().reload.lastRefused).toMatchObject({ isPending: true, problems: ["q"] });
    await clock.advance(1_000);
    board.report({ kind: "config_applied", hash: "i", previousHash: "h", trigger: "file_change", routes: ["b"] });
    const { lastRefused, ...now } = board.view().reload;
    expect(now).toMatchObject({ trigger: "file_change", routes: ["b"] });
    expect(now.inForceSince).not.toBe(inForceSince);
    expect(lastRefused?.isPending).toBe(false);
  });

  it("measures what is left of a token by the monotonic clock, whatever the wall clock is set to", async () => {
    const { board, clock } = openBoard(environment("sandbox", site("S1", "blue")));
    board.report(adopted("sandbox", "S1/blue"));
    await clock.advance(600_000);
    clock.jumpWall(-5 * 3_600_000);
    const [blue] = board.view().credentials;
    expect(blue?.token).toMatchObject({ remainingMs: 3_000_000, lifetimeMs: 3_600_000 });
    const expiresAt = new Date(clock.wallMs() + 3_000_000).toISOString();
    expect(blue?.token).toMatchObject({ expiresAt });
  });
});

describe("readiness, with another configuration", () => {
  const [one, two] = [environment("sandbox", site("S1", "a")), environment("live", site("S9", "b"))];

  it("waits for the new one's tokens while it was not ready, but for sets that have had one", () => {
    const readiness = new Readiness([one], new FakeClock());
    readiness.report(started);
    readiness.report(adopted("live", "S9/b"));
    expect(readiness.view()).toMatchObject({ isReady: false, reason: "no token yet for sandbox: S1" });
    const other = environment("third", site("S3", "c"));
    readiness.follow([two, other]);
    expect(readiness.view()).toMatchObject({ isReady: false, reason: "no token yet for third: S3" });
    readiness.report(adopted("third", "S3/c"));
    expect(readiness.view()).toMatchObject({ isReady: true });
  });

  it("is ready at once when nothing is left to wait for", () => {
    const readiness = new Readiness([one], new FakeClock());
    readiness.report(started);
    readiness.follow([]);
    expect(readiness.view()).toMatchObject({ isReady: true });
  });

  it("never falls back once it was ready", () => {
    const readiness = new Readiness([one], new FakeClock());
    readiness.report(started);
    readiness.report(adopted("sandbox", "S1/a"));
    readiness.follow([two]);
    expect(readiness.view()).toMatchObject({ isReady: true, awaitsToken: false, reason: "ok" });
    readiness.report({ kind: "draining", signal: "SIGTERM", inFlight: 0 });
    expect(readiness.view()).toMatchObject({ isReady: false, reason: "draining" });
  });
});
