/** Of connections that only wait, the longest waiting one is closed for a new one; those with a request under way stay. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { RawConnection, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { stage } from "../../../testkit/stage.ts";
import { callSecurely, known, openSecurely, payments, stageWithCallers } from "./callers.ts";

const connections = 8;
/** Longer than a busy caller takes to send its next request. */
const quietMs = 1_100;

it("serves 5 of 5 others while one caller has as many idle connections as are served", async () => {
  const { url, clock, open } = await stageCrowded();
  const [first, ...later] = await open("", connections);
  clock.push(quietMs);
  await expectServed(url, 5);
  expect(await first?.ended()).toBe("");
  expect(later.at(-1)?.socket.readableEnded).toBe(false);
});

it("answers the others while one caller has opened more connections than are accepted", async () => {
  const { url, clock, open } = await stageCrowded();
  await open("", 5 * connections);
  expectFailure(await call(url), { status: 503, code: "overloaded" });
  clock.push(quietMs);
  await expectServed(url, 5);
});

it("answers the others over TLS while one caller has opened as many connections and begins no handshake", async () => {
  const { port } = await stageWithCallers(payments, { limits: { connections } });
  await Promise.all(Array.from({ length: 5 * connections }, () => RawConnection.open(port)));
  for (let others = 0; others < 5; others += 1) expect(await callSecurely(port, known)).toMatchObject({ status: 200 });
});

it("answers several others at once over TLS while one caller has as many idle connections as are accepted", async () => {
  const { port, clock } = await stageWithCallers(payments, { limits: { connections } });
  for (let idle = 0; idle < 2 * connections; idle += 1) await openSecurely(port);
  clock.push(quietMs);
  const answers = await Promise.all(Array.from({ length: 5 }, () => callSecurely(port)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
});

it("ends no connection whose handshake is done, over TLS on a Unix socket", async () => {
  const path = join(emptyFolder(), "orders.sock");
  const listeners = [{ bind: { kind: "unix", path } as const, environment: "sandbox", hosts: [], callers: payments }];
  const { simulator, adminUrl } = await stage({ limits: { connections }, config: { listeners } });
  const open = () => RawConnection.open({ path });
  await open();
  const hanging = simulator.faults.add({ host: "api", kind: "hang" });
  const serving = await RawConnection.open({ ...known, path, host: "localhost" });
  serving.write(rawPost());
  await hanging.whenPlayed(1);
  const crowd = await Promise.all(Array.from({ length: 5 * connections }, open));
  await haveAccepted(crowd, adminUrl);
  hanging.release();
  expect(await serving.ended()).toMatch(/^HTTP\/1\.1 200 /);
});

it.each([
  ["the head", rawPost().slice(0, 60)],
  ["the body", rawPost().slice(0, -1)],
])("refuses requests whose callers do not send the rest of %s, to make room for others", async (_, bytes) => {
  const { url, clock, open, simulator } = await stageCrowded();
  const slow = await open(bytes, connections);
  clock.push(quietMs);
  await expectServed(url, 3);
  const answered = await Promise.all(slow.slice(0, 3).map((connection) => connection.ended()));
  for (const text of answered) {
    const [answer, ...more] = readAnswers(text);
    expectFailure(answer ?? expect.fail(), { status: 503, code: "overloaded", detail: /limits\.connections/ });
    expect(more).toEqual([]);
  }
  expect(simulator.counts().apiRequests).toBe(3);
});

it("closes no connection whose request is being served, and none whose caller is active", async () => {
  const { url, clock, open, simulator } = await stageCrowded();
  const hanging = simulator.faults.add({ host: "api", kind: "hang", times: connections - 1 });
  const served = await open(rawPost(), connections - 1);
  await hanging.whenPlayed(connections - 1);
  clock.push(quietMs);
  const [busy] = await open("", 1);
  expectFailure(await call(url), { status: 503, code: "overloaded" });
  hanging.release();
  for (const connection of served) expect(await connection.ended()).toMatch(/^HTTP\/1\.1 200 /);
  expect(await busy?.write(rawPost()).ended()).toMatch(/^HTTP\/1\.1 200 /);
});

it("fills all places from a crowd that first opens all its connections and then sends its requests", async () => {
  const { open, simulator } = await stageCrowded();
  const crowd = await open("", 5 * connections);
  const left = crowd.filter(({ socket }) => !socket.readableEnded);
  const texts = await Promise.all(left.map((connection) => connection.write(rawPost()).ended()));
  const served = texts.filter((text) => text.startsWith("HTTP/1.1 200 ")).length;
  expect(served).toBeGreaterThanOrEqual(connections);
  expect(simulator.counts().apiRequests).toBe(served);
});

/** On a busy machine opening takes longer than `quietMs`: the clock tells only what came first, and moves by the test. */
async function stageCrowded() {
  let readings = 0;
  const clock = new ShiftedClock(() => ++readings / 1_000);
  const proxy = await stage({ limits: { connections }, surroundings: { clock } });
  const open = async (bytes: string, count: number) => {
    const opened = await Promise.all(Array.from({ length: count }, () => RawConnection.open(proxy.port)));
    for (const connection of opened) connection.write(bytes);
    await haveAccepted(opened, proxy.adminUrl);
    return opened;
  };
  return { ...proxy, clock, open };
}

/** The listener handles one connection in a turn of its loop: after as many probes it has accepted and read all. */
async function haveAccepted(opened: readonly RawConnection[], adminUrl: string): Promise<void> {
  for (const _ of opened) await call(adminUrl, "", { method: "GET", path: "/livez" });
}

/** Expects so many calls to be served, each on a connection of its own. */
async function expectServed(url: string, others: number): Promise<void> {
  const answers = await Promise.all(Array.from({ length: others }, () => call(url)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
}
