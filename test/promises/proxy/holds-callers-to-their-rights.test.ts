/** A caller may use only its own sites, operations and rate; otherwise it is refused before a token is requested. */
import { describe, expect, it } from "vitest";
import { Secret } from "../../../src/model/secret.ts";
import { order } from "../../../testkit/call.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { ask, RawConnection, type RawPost, rawPost } from "../../../testkit/raw-caller.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { bothSite, childSite, hmacSite, oauthSite } from "../../../testkit/stage.ts";
import { allRights, anyPort, older, stageWithCaller, stageWithCallers, token } from "./callers.ts";

const right = `Proxy-Authorization: Bearer ${token}`;
const naming = (site: string) => ({ ...order, site_identifier: site });
const post = ({ more = [], ...given }: RawPost): RawPost => ({ ...given, more: [right, ...more] });
const json = (body: unknown): RawPost => post({ body: JSON.stringify(body) });
const header = (site: string, name = "Countersign-Site"): RawPost => post({ more: [`${name}: ${site}`] });

describe("a caller of one site cannot use another", () => {
  it.each<[string, RawPost]>([
    ["by naming none, if the default is another's", post({})],
    ["by the header", header(oauthSite)],
    ["by the header in other casing", header(oauthSite, "cOuNtErSiGn-SiTe")],
    ["by the body", json(naming(oauthSite))],
    ["by an escaped name in the body", post({ body: `{"\\u0073ite_identifier":"${oauthSite}"}` })],
    ["by an escaped value in the body", post({ body: `{"site_identifier":"\\u0053${oauthSite.slice(1)}"}` })],
    ["by header and body", { ...json(naming(oauthSite)), more: [right, `Countersign-Site: ${oauthSite}`] }],
    ["by a child of another", header(childSite)],
    ["by a key of another in the header", header("K2000000005")],
    ["by a key of another in the body", json(naming("K2000000005"))],
    ["by a site with another method", post({ more: [`Countersign-Site: ${bothSite}`, "Countersign-Auth: oauth"] })],
  ])("%s", async (_, given) => {
    const stage = await stageWithCaller({ sites: new Set([hmacSite]) }, { withBoth: true });
    const before = stage.simulator.counts();
    const answer = await ask(stage.port, given);
    expectFailure(answer, {
      status: 403,
      code: "caller_not_allowed",
      detail: /^Caller orders may not use site S100000000[125], which/,
    });
    expect(await stage.recorder.nth("request_finished", 1)).toMatchObject({ cause: "sites", stage: "choose_site" });
    expect(stage.simulator.counts().apiRequests).toBe(before.apiRequests);
    expect((await ask(stage.port, header(hmacSite))).status).toBe(200);
  });

  it("through a proxy setting, whose request names the service itself", async () => {
    const { port, simulator } = await stageWithCaller({ sites: new Set([hmacSite]) });
    const target = `${simulator.apiUrl}/create_order`;
    const through = (site: string) => ask(port, { target, more: [right, `Countersign-Site: ${site}`] });
    expect((await through(oauthSite)).headers["countersign-error"]).toBe("caller_not_allowed");
    expect((await through(hmacSite)).status).toBe(200);
    expect(simulator.counts().apiRequests).toBe(1);
  });

  it.each([
    [oauthSite, childSite],
    [childSite, oauthSite],
  ])("by kinship: %s is not %s", async (own, other) => {
    const { port, simulator } = await stageWithCaller({ sites: new Set([own]) });
    expect((await ask(port, header(other))).headers["countersign-error"]).toBe("caller_not_allowed");
    expect((await ask(port, header(own))).status).toBe(200);
    expect(simulator.counts().apiRequests).toBe(1);
  });

  it("by naming one that does not exist: the answer lists the caller's own sites only", async () => {
    const stage = await stageWithCaller({ sites: new Set([hmacSite]) }, { withBoth: true });
    const answer = await ask(stage.port, header("S9"));
    const detail = new RegExp(`Sites that can be used here: ${hmacSite}\\. Nothing was sent\\.$`);
    expectFailure(answer, { status: 403, code: "site_not_configured", detail });
  });

  it("and waits for no token, even if none is available", async () => {
    const stage = await stageWithCaller({ sites: new Set([hmacSite]) }, { authUrl: "http://127.0.0.1:1" });
    const answer = await ask(stage.port, header(oauthSite));
    expect(answer.headers["countersign-error"]).toBe("caller_not_allowed");
    expect((await stage.recorder.nth("request_finished", 1)).tokenWaitMs).toBeUndefined();
  });
});

describe("a caller of one operation cannot call another", () => {
  it("which is refused before its body has come", async () => {
    const { port, simulator } = await stageWithCaller({ operations: new Set(["get_order"]) });
    const connection = await RawConnection.open(port);
    const framing = ["Content-Length: 100", "Expect: 100-continue"];
    const text = await connection.write(rawPost(post({ framing, body: "" }))).ended();
    expect(text).toMatch(/^HTTP\/1\.1 403 /);
    expect(text).toContain("Caller orders may not call create_order: it is not in the caller's operations.");
    expect((await ask(port, post({ target: "/get_order" }))).status).toBe(200);
    expect(simulator.counts().apiRequests).toBe(1);
  });

  it.each(["/create_order", "/Get_order", "/get_order/x", "/x/get_order", "http://SERVICE/json-api/create_order"])(
    "%s, in an environment that allows any",
    async (target) => {
      const rights = { operations: new Set(["get_order"]) };
      const { port, simulator } = await stageWithCaller(rights, { environment: { operations: "any" } });
      const written = target.replace("http://SERVICE/json-api", simulator.apiUrl);
      const answer = await ask(port, post({ target: written }));
      expectFailure(answer, { status: 403, code: "caller_not_allowed", detail: /^Caller orders may not call / });
      expect(simulator.counts().apiRequests).toBe(0);
    },
  );
});

describe("a caller with a rate", () => {
  const limited = { ...allRights, name: "orders", tokens: [new Secret(token)], requestsPerSecond: 2 };
  const callers = [limited, { ...allRights, name: "reports", tokens: [new Secret(older)] }];

  it("gets 429 beyond it, and no other caller does", async () => {
    const clock = new ShiftedClock(() => 1_000_000);
    const stage = await stageWithCallers({ kind: "named", callers, tls: undefined }, { surroundings: { clock } });
    const statuses = async (line: string, times: number) => {
      const all = await Promise.all(Array.from({ length: times }, () => ask(stage.port, { more: [line] })));
      return all.map(({ status }) => status).sort();
    };
    expect(await statuses(right, 12)).toEqual([200, 200, ...Array(10).fill(429)]);
    expect(await statuses(`Proxy-Authorization: Bearer ${older}`, 5)).toEqual(Array(5).fill(200));
    const refused = await ask(stage.port, { more: [right] });
    expectFailure(refused, { status: 429, code: "caller_rate_limited", detail: /^Caller orders makes more/ });
    expect(refused.headers["retry-after"]).toBe("1");
    clock.push(10_000);
    expect(await statuses(right, 2)).toEqual([200, 200]);
  });

  it("has one rate for all listeners together, and a reload does not reset it", async () => {
    const all = callers.map((each) => ({ ...each, requestsPerSecond: 0.01 }));
    const one = { kind: "named", callers: all, tls: undefined } as const;
    const listeners = [1, 2].map(() => ({ bind: anyPort, environment: "sandbox", hosts: [], callers: one }));
    const stage = await stageWithCallers(one, { config: { listeners } });
    const ports = stage.proxy.binds.listeners.map((each) => (each.kind === "tcp" ? each.port : 0));
    const asked = async (port = 0) => (await ask(port, { more: [right] })).status;
    expect(await asked(ports[0])).toBe(200);
    expect(await asked(ports[1])).toBe(429);
    await stage.proxy.apply({ ...stage.config, hash: "another" }, "sighup");
    expect(await asked(ports[0])).toBe(429);
    const free = { ...one, callers: one.callers.map((each) => ({ ...each, requestsPerSecond: 100 })) };
    const faster = stage.config.listeners.map((listener) => ({ ...listener, callers: free }));
    await stage.proxy.apply({ ...stage.config, hash: "faster", listeners: faster }, "sighup");
    expect(await asked(ports[1])).toBe(200);
  });
});
