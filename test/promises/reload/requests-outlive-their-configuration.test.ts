/**
 * Decision 6: a request belongs to the configuration that accepted it. It has that configuration's deadline and
 * secrets, and gets an answer, whatever happens to its listener, its site and the process meanwhile.
 */
import type { Agent } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { openUpstreams } from "../../../src/app/upstreams.ts";
import type { Config } from "../../../src/config/config.ts";
import { call, order } from "../../../testkit/call.ts";
import { ConfigFolder, edited, sound } from "../../../testkit/config-folder.ts";
import { changed } from "../../../testkit/environment.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { keepAlive } from "../../../testkit/keep-alive.ts";
import { orderText, RawConnection, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { settlesSoon } from "../../../testkit/settles-soon.ts";
import { hmacSite, oauthSite, stage } from "../../../testkit/stage.ts";

const anyPort = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
const listener = { bind: anyPort, environment: "sandbox", hosts: [] };
const signed = { "Countersign-Site": hmacSite };

it("a request keeps its deadline when its listener is removed, which was opened with a shorter one", async () => {
  const { clock, secondUrl, adminUrl, hold, withRequestMs, removeSecond } = await stageLimited(5_000);
  await withRequestMs(60_000);
  const { answer, release } = await hold(secondUrl);
  await removeSecond();
  clock.push(30_000);
  expect(await settlesSoon(answer, adminUrl)).toBe(false);
  release();
  expect((await answer).status).toBe(200);
});

it("a request on a kept connection just after its listener was removed gets an answer at its deadline", async () => {
  const { clock, secondUrl, adminUrl, hold, removeSecond } = await stageLimited(5_000);
  const agent = keepAlive(1);
  const refused = await call(secondUrl, "{", { headers: signed, agent });
  expect(refused.status).toBe(400);
  await removeSecond();
  clock.push(500);
  const { answer } = await hold(secondUrl, agent);
  clock.push(4_600);
  await settlesSoon(answer, adminUrl);
  clock.push(1_000);
  const { status, json } = await answer;
  expect({ status, outcome: json.outcome }).toEqual({ status: 504, outcome: "unknown" });
});

it("a drain waits for a request whose listener was removed before", async () => {
  const { proxy, secondUrl, adminUrl, hold, removeSecond } = await stageLimited(5_000);
  const { answer, release } = await hold(secondUrl);
  await removeSecond();
  const stopped = proxy.stop("SIGTERM");
  expect(await settlesSoon(stopped, adminUrl)).toBe(false);
  release();
  expect((await answer).status).toBe(200);
  expect(await stopped).toBe(true);
});

it("a request keeps its deadline when a shorter one becomes active and then a drain begins", async () => {
  const { proxy, clock, url, adminUrl, hold, withRequestMs } = await stageLimited(60_000);
  const { answer, release } = await hold(url);
  await withRequestMs(1_000);
  const stopped = proxy.stop("SIGTERM");
  clock.push(30_000);
  expect(await settlesSoon(stopped, adminUrl)).toBe(false);
  release();
  expect((await answer).status).toBe(200);
  expect(await stopped).toBe(true);
});

it("a request gets its site's token when the site is removed while the request still comes", async () => {
  const { clock, port, adminUrl, config, recorder, reload, withRequestMs } = await stageLimited(60_000);
  const caller = await RawConnection.open(port);
  const [head = ""] = rawPost().split(orderText);
  caller.write(`${head}${orderText.slice(0, 5)}`);
  await whenInFlight({ adminUrl }, 1);
  await withRequestMs(1_000);
  const withoutOauth = changed(config, ({ sites }) => ({
    sites: new Map([...sites].filter(([, { credentials }]) => credentials?.owner !== oauthSite)),
    defaultSite: hmacSite,
  }));
  await reload(withoutOauth);
  clock.push(10_000);
  caller.write(orderText.slice(5));
  const [answer] = readAnswers(await caller.ended());
  expect(answer?.status).toBe(200);
  expect(recorder.of("defect")).toEqual([]);
});

it("connections of a former configuration end with all others when the process ends, and only once", async () => {
  const refused: unknown[] = [];
  const onRefused = (reason: unknown) => refused.push(reason);
  process.on("unhandledRejection", onRefused);
  onTestFinished(() => void process.off("unhandledRejection", onRefused));
  const clock = new FakeClock();
  const upstreams = openUpstreams(clock);
  for (const config of await bothConfigs()) {
    await upstreams.prepare(config);
    upstreams.commit(config);
  }
  expect(clock.pending).toBe(1);
  await upstreams.close();
  await clock.advance(60_000);
  await new Promise((resolve) => setImmediate(resolve));
  expect(refused).toEqual([]);
});

it("connections that a reload was preparing when the process ends are ended at once", async () => {
  const clock = new FakeClock();
  const upstreams = openUpstreams(clock);
  const [first, next] = await bothConfigs();
  await upstreams.prepare(first);
  upstreams.commit(first);
  await upstreams.close();
  await upstreams.prepare(next);
  upstreams.commit(first);
  expect(clock.pending).toBe(0);
});

/** Two configurations that differ in the service's address. */
async function bothConfigs(): Promise<readonly [Config, Config]> {
  const other = edited(["https://api.sandbox.example", "https://other.sandbox.example"]);
  const folder = new ConfigFolder();
  return [(await folder.loadSound(sound)).config, (await folder.loadSound(other)).config];
}

/** A proxy with two listeners. */
async function stageLimited(requestMs: number) {
  const config = { listeners: [listener, listener] };
  const staged = await stage({ config, timeouts: { requestMs }, oneSet: true });
  const second = staged.proxy.binds.listeners[1];
  if (second?.kind !== "tcp") throw new Error("the stage listens on TCP");
  return {
    ...staged,
    withRequestMs: (ms: number) => staged.reload({ timeouts: { ...staged.config.timeouts, requestMs: ms } }),
    removeSecond: () => staged.reload({ listeners: [listener] }),
    secondUrl: `http://127.0.0.1:${second.port}`,
    /** Sends an order; the service holds its answer back until `release`. */
    async hold(url: string, agent?: Agent) {
      const hang = staged.simulator.faults.add({ host: "api", kind: "hang" });
      const answer = call(url, order, { headers: signed, agent });
      await hang.whenPlayed(1);
      return { answer, release: () => hang.release() };
    },
  };
}
