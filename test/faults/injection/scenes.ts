import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { call } from "../../../testkit/call.ts";
import { paymentsCertificate } from "../../../testkit/caller-certificates.ts";
import { clientKey } from "../../../testkit/certificates.ts";
import { canaries } from "../../../testkit/config-folder.ts";
import { sites } from "../../../testkit/faults-configuration.ts";
import { chunked, rawPost } from "../../../testkit/raw-caller.ts";
import { accepts } from "../../../testkit/stage/callbacks.ts";
import { callbackOf, type Given } from "../../promises/callbacks/sender.ts";
import {
  ask,
  authorised,
  headers,
  leave,
  page,
  type Reply,
  readSlowly,
  type Scene,
  secured,
  settleNewest,
  signed,
} from "./ask.ts";
import type { Lane } from "./lane.ts";

const big = `{"order_type":"${"x".repeat(100_000)}"}`;
const slowly = "Countersign-Timeout-Ms: 300";

/** Acts of callers and of the service. */
const scenesOfOrders: readonly Scene[] = [
  { name: "a signed order", play: async (lane) => [await signed(lane)] },
  { name: "an authorised order", play: async (lane) => [await authorised(lane)] },
  {
    name: "an order through a forward proxy",
    play: async (lane) => [await ask(lane, rawPost({}), connect(lane.outSocketPath))],
  },
  {
    name: "metrics, readiness and a page that does not exist",
    play: async (lane) => [await page(lane, "/metrics"), await page(lane, "/readyz"), await page(lane, "/other")],
  },
  {
    name: "the status, for programs and for people",
    play: async (lane) => {
      const pages: Reply[] = [];
      for (const path of ["/status", "/", "/still"]) pages.push(await page(lane, path, lane.statusUrl));
      return pages;
    },
  },
  {
    name: "requests that are refused",
    play: async (lane) => [
      await ask(lane, "nonsense\r\n\r\n"),
      await ask(lane, "CONNECT api.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
      await ask(lane, rawPost({ body: big.repeat(3) })),
      await ask(lane, rawPost({ body: "[]" })),
      await ask(
        lane,
        rawPost({ framing: ["Content-Length: 50"], body: "{}" }).replace("Host", "Expect: other\r\nHost"),
      ),
      await ask(lane, rawPost({ framing: ["Transfer-Encoding: chunked"], body: "z\r\n" })),
    ],
  },
  {
    name: "an order whose body is asked for, and two at once",
    play: async (lane) => [
      await ask(lane, rawPost({ more: [headers.signed, "Expect: 100-continue"] })),
      await ask(
        lane,
        rawPost({ connection: [], more: [headers.signed] }) +
          rawPost({ more: [headers.signed, "Expect: 100-continue"] }),
      ),
    ],
  },
  {
    name: "callers that leave",
    async play(lane) {
      const { simulator } = lane;
      await leave(lane, rawPost({ framing: ["Content-Length: 500"] }));
      simulator.faults.add({ host: "api", kind: "hang" });
      await leave(lane, rawPost({ more: [headers.signed] }));
      simulator.faults.clear();
      return [];
    },
  },
  {
    name: "an order with a key of its own, and its repetition",
    async play(lane) {
      const once = rawPost({ more: [headers.signed, `Countersign-Once: ${randomUUID()}`] });
      lane.simulator.faults.add({ host: "api", kind: "drip", chunkBytes: 100, intervalMs: 20 });
      const both = await Promise.all([ask(lane, once), ask(lane, once)]);
      return [...both, await ask(lane, once)];
    },
  },
  {
    name: "an order with a key whose outcome is unknown, and is settled",
    async play(lane) {
      lane.simulator.faults.add({ host: "api", kind: "reset", when: "after_reading" });
      const lost = await ask(lane, rawPost({ more: [headers.signed, `Countersign-Once: ${randomUUID()}`] }));
      return [lost, await settleNewest(lane)];
    },
  },
  { name: "a reader that takes its time", play: readSlowly },
  {
    name: "a service that says much before its answer, breaks off, or takes too long",
    async play(lane) {
      const { faults } = lane.simulator;
      faults.add({ host: "api", kind: "answer", status: 200, headers: { "x-long": "x".repeat(20_000) } });
      const long = await signed(lane);
      faults.add({ host: "api", kind: "reset", when: "before_reading" });
      const broken = await signed(lane);
      faults.add({ host: "api", kind: "truncate" });
      const cut = await signed(lane);
      faults.add({ host: "api", kind: "hang" });
      const late = await ask(lane, rawPost({ more: [headers.signed, slowly] }));
      faults.clear();
      return [long, broken, cut, late];
    },
  },
  {
    name: "callers with a certificate, and without",
    async play(lane) {
      const good = rawPost({ more: [headers.signed] });
      const reply = await ask(lane, good, secured(lane, { key: clientKey, cert: paymentsCertificate }));
      await ask(lane, good, secured(lane));
      await ask(lane, good, connect(lane.tlsPort, "127.0.0.1"));
      return [reply];
    },
  },
];

let counted = 0;

function callback(): Given {
  counted += 1;
  return callbackOf({ site_identifier: sites.hmac, number: String(counted) }, canaries.key);
}

function send(lane: Lane, parameters: Given): Promise<Reply> {
  const bytes = rawPost({ target: "/callbacks", body: JSON.stringify(parameters) });
  return ask(lane, bytes, connect(lane.callbackPort, "127.0.0.1"));
}

/** Acts of the service and of the application. */
const scenesOfCallbacks: readonly Scene[] = [
  {
    name: "a callback, and the same again",
    async play(lane) {
      lane.application.answerWith(accepts);
      const one = callback();
      return [await send(lane, one), await send(lane, one)];
    },
  },
  { name: "a forged callback", play: async (lane) => [await send(lane, { ...callback(), signature: "0".repeat(64) })] },
  {
    name: "callbacks that the application declines, breaks off and forgets",
    async play(lane) {
      const replies: Reply[] = [];
      lane.application.answerWith((response) => response.writeHead(500).end("x".repeat(70_000)));
      replies.push(await send(lane, callback()));
      lane.application.answerWith((response) => response.destroy());
      replies.push(await send(lane, callback()));
      lane.application.answerWith((response) => {
        // Too long to be read at once.
        response.writeHead(500, { "Content-Length": 200_000 }).write("x".repeat(100_000), () => response.destroy());
      });
      replies.push(await send(lane, callback()));
      lane.application.answerWith(() => {});
      replies.push(await send(lane, callback()));
      lane.application.answerWith(accepts);
      return replies;
    },
  },
];

/** Too long for one read or one write. */
const upload = "x".repeat(300_000);
const switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello";

/** A request of the pass-through route; the service answers 404. */
function request(line: string, more: readonly string[] = [], body = ""): string {
  const lines = [`${line} HTTP/1.1`, "Host: 127.0.0.1", "Connection: close", headers.authorised, ...more];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

/** Acts of callers and of the service below a pass-through route. */
const scenesOfRoutes: readonly Scene[] = [
  {
    name: "bodies that pass through, and one that is asked for",
    play: async (lane) => [
      await ask(lane, request("GET /files/a")),
      await ask(lane, request("PUT /files/a", ["Transfer-Encoding: chunked"], chunked("some"))),
      await ask(lane, request("PUT /files/a", [`Content-Length: ${upload.length}`, "Expect: 100-continue"], upload)),
    ],
  },
  {
    name: "a connection that switches, and says something both ways",
    async play(lane) {
      lane.simulator.faults.add({ host: "api", kind: "raw", bytes: switched, close: false });
      const socket = connect(lane.socketPath).on("error", () => {});
      const asking = ["Upgrade: websocket", "Sec-WebSocket-Version: 13"];
      socket.write(request("GET /files/live", asking).replace("Connection: close", "Connection: Upgrade"));
      socket.once("data", () => socket.write("back"));
      await delay(100);
      socket.destroy();
      await delay(20);
      lane.simulator.faults.clear();
      return [];
    },
  },
  {
    name: "callers of a route that leave",
    async play(lane) {
      await leave(lane, request("PUT /files/a", ["Content-Length: 500"], "some"));
      lane.simulator.faults.add({ host: "api", kind: "hang" });
      await leave(lane, request("GET /files/a"));
      lane.simulator.faults.clear();
      return [];
    },
  },
];

/** Acts of the authorization server and of Redis. */
const scenesOfTokens: readonly Scene[] = [
  {
    name: "a revoked token",
    async play(lane) {
      lane.simulator.revokeAllTokens();
      return [await authorised(lane)];
    },
  },
  {
    name: "a revoked token, and a service whose 401 comes in pieces",
    async play(lane) {
      lane.simulator.revokeAllTokens();
      lane.simulator.faults.add({ host: "api", kind: "drip", chunkBytes: 100, intervalMs: 5 });
      const reply = await authorised(lane);
      lane.simulator.faults.clear();
      return [reply];
    },
  },
  {
    name: "a revoked token, while another refreshes",
    async play(lane) {
      await lane.redis.set(lane.tokenName.replace(/token$/, "lock"), "another", "PX", 250);
      lane.simulator.revokeAllTokens();
      return await Promise.all([authorised(lane), authorised(lane)]);
    },
  },
  {
    name: "a revoked token, and an authorization server that fails at first",
    async play(lane) {
      lane.simulator.revokeAllTokens();
      lane.simulator.faults.add({ host: "login", kind: "answer", status: 503, times: 1 });
      return [await authorised(lane), await authorised(lane)];
    },
  },
  {
    name: "a set that is refused, and the other one",
    async play(lane) {
      lane.simulator.revokeAllTokens();
      lane.simulator.faults.add({ host: "login", kind: "answer", status: 401, clientId: "blue-id", times: 2 });
      return [await authorised(lane), await authorised(lane)];
    },
  },
  {
    name: "a token in Redis that is not ours",
    async play(lane) {
      await lane.redis.set(lane.tokenName, "not ours", "PX", 60_000);
      lane.simulator.revokeAllTokens();
      return [await authorised(lane)];
    },
  },
  {
    name: "a Redis that has lost its scripts and its connections",
    async play(lane) {
      await lane.redis.script("FLUSH");
      lane.simulator.revokeAllTokens();
      const reply = await authorised(lane);
      await lane.redis.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      await delay(20);
      lane.simulator.revokeAllTokens();
      return [reply, await authorised(lane)];
    },
  },
  {
    name: "a Redis that hangs",
    async play(lane) {
      lane.server.stop();
      lane.simulator.revokeAllTokens();
      const reply = await authorised(lane);
      lane.server.cont();
      return [reply, await authorised(lane)];
    },
  },
  {
    name: "an order with a key, and a callback, while Redis hangs",
    async play(lane) {
      const once = rawPost({ more: [headers.signed, `Countersign-Once: ${randomUUID()}`] });
      lane.application.answerWith(accepts);
      lane.server.stop();
      const replies = await Promise.all([ask(lane, once), send(lane, callback())]);
      lane.server.cont();
      return [...replies, await ask(lane, once)];
    },
  },
  {
    name: "a Redis that hangs until it is tried again",
    async play(lane) {
      lane.server.stop();
      lane.simulator.revokeAllTokens();
      const reply = await authorised(lane);
      await delay(1_500);
      lane.server.cont();
      await delay(200);
      return [reply, await authorised(lane)];
    },
  },
  {
    name: "an authorization server that asks for a pause",
    async play(lane) {
      lane.simulator.revokeAllTokens();
      const pause = { status: 429, headers: { "retry-after": "1" } };
      lane.simulator.faults.add({ host: "login", kind: "answer", ...pause, times: 1 });
      const reply = await authorised(lane);
      await delay(1_100);
      return [reply, await authorised(lane)];
    },
  },
  {
    name: "an authorization server that is slow",
    async play(lane) {
      lane.simulator.revokeAllTokens();
      lane.simulator.faults.add({ host: "login", kind: "delay", delayMs: 1_500 });
      const reply = await authorised(lane);
      await delay(700);
      return [reply, await authorised(lane)];
    },
  },
  {
    name: "a token whose life is short",
    async play(lane) {
      lane.simulator.setTokenLifetimeSeconds(1);
      lane.simulator.revokeAllTokens();
      const replies = [await authorised(lane)];
      lane.simulator.setTokenLifetimeSeconds(86_400);
      await delay(1_100);
      return [...replies, await authorised(lane)];
    },
  },
];

/** Reloads the configuration, and waits for the result. */
async function reload(lane: Lane, isOther: boolean): Promise<void> {
  const before = lane.written().stdout.length;
  lane.configure({ isOther });
  lane.program.child.kill("SIGHUP");
  const isDone = () => /"event":"(config_|defect)/.test(lane.written().stdout.slice(before));
  for (let tries = 0; tries < 100 && !isDone() && !lane.hasEnded; tries++) await delay(20);
}

const reloading: Scene = {
  name: "another configuration, and back",
  async play(lane) {
    await reload(lane, true);
    const reply = await authorised(lane);
    await reload(lane, false);
    return [reply, await authorised(lane)];
  },
};

const scraping: Scene = {
  name: "Prometheus scrapes OpenMetrics, packed",
  async play(lane) {
    const headers = { Accept: "application/openmetrics-text; version=1.0.0", "Accept-Encoding": "gzip" };
    await call(lane.adminUrl, "", { method: "GET", path: "/metrics", headers }).catch(() => {});
    return [await authorised(lane)];
  },
};

/** In the order in which points are looked for; each is tried in the first scene that reaches it. */
export const scenes: readonly Scene[] = [
  ...scenesOfOrders,
  ...scenesOfCallbacks,
  ...scenesOfRoutes,
  ...scenesOfTokens,
  reloading,
  scraping,
];
