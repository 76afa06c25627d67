/** Nothing is sent for a caller that has left before; a request that was sent is completed once, and logged. */
import { expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { startForwardProxy } from "../../../testkit/forward-proxy.ts";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { orderText, RawConnection, rawPost } from "../../../testkit/raw-caller.ts";
import { granted, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { letItRead, openBehindHeld } from "../../../testkit/server-side.ts";
import { egressThrough } from "../../../testkit/stage/egress.ts";
import { files, rawRequest } from "../../../testkit/stage/pass-through.ts";
import { hmacSite, oauthSite, type Stage, stage } from "../../../testkit/stage.ts";
import { callSecurely, known, payments, stageWithCallers } from "./callers.ts";

const reference = "A-1042";
const more = [`Countersign-Reference: ${reference}`];
const isOurs = (event: { reference: string | undefined }) => event.reference === reference;
const finished = ({ recorder }: Stage) => recorder.nth("request_finished", 1, isOurs);

const leaving = [
  ["resets", (connection: RawConnection) => void connection.socket.resetAndDestroy()],
  ["closes", (connection: RawConnection) => void connection.socket.destroy()],
] as const;

it.each(leaving)("sends nothing for a caller that %s its connection in the middle of its body", async (how, leave) => {
  const { connection, ...staged } = await stage("connection");
  connection.write(rawPost({ more, framing: [`Content-Length: ${orderText.length}`], body: orderText.slice(0, 9) }));
  await whenInFlight(staged, 1);
  leave(connection);
  const ending = await finished(staged);
  expect(ending).toMatchObject({ outcome: "not_sent", by: "countersign", code: "malformed_request", attempts: 0 });
  // A caller that only closes its half may still be reading.
  expect(ending.callerLeft).toBe(how === "resets");
  expect(staged.simulator.counts().apiRequests).toBe(0);
  expect((await call(staged.url)).status).toBe(200);
  expect(staged.recorder.count("defect")).toBe(0);
});

it.each([...leaving.map(([how, leave]) => [how, "TCP", leave] as const), ["closes", "TLS", leaving[1][1]] as const])(
  "sends nothing for a caller that %s its connection over %s while a token is awaited",
  async (_, over, leave) => {
    let issue = () => {};
    const login = await startRawUpstream({
      answer(_request, socket) {
        issue = () => socket.write(granted);
      },
    });
    const options = { authUrl: login.url };
    const staged = await (over === "TLS" ? stageWithCallers(payments, options) : stage(options));
    const to = over === "TLS" ? { ...known, host: "localhost" } : { host: "127.0.0.1" };
    const connection = await RawConnection.open({ ...to, port: staged.port });
    connection.write(rawPost({ more }));
    await whenInFlight(staged, 1);
    await login.whenRequests(1);
    leave(connection);
    await (over === "TLS" ? callSecurely(staged.port, known, { "Countersign-Site": "S9" }) : letItRead(staged));
    issue();
    expect(await finished(staged)).toMatchObject({
      status: 499,
      outcome: "not_sent",
      by: "countersign",
      code: undefined,
      attempts: 0,
      callerLeft: true,
    });
    expect(staged.simulator.counts().apiRequests).toBe(0);
    const { sum } = await scrape(staged.adminUrl);
    const left = { site: oauthSite, operation: "create_order", status: "499", by: "countersign", outcome: "not_sent" };
    expect(sum("countersign_requests_total", left)).toBe(1);
    // The one failure is the other caller's.
    expect(sum("countersign_failures_total")).toBe(1);
  },
);

/** The service behind a forward proxy, which opens a tunnel to it when the test says so. */
async function stageTunnels(): Promise<{ readonly staged: Stage; nextTunnel(): Promise<() => void> }> {
  let onTunnel = (open: () => void) => open();
  const forward = await startForwardProxy({
    established: "",
    onTunnel: (client, host) => {
      const open = () => void client.write("HTTP/1.1 200 OK\r\n\r\n");
      if (`${host.remotePort}` === api.port) onTunnel(open);
      else open();
    },
  });
  const timeouts = { requestMs: 60_000, connectMs: 60_000 };
  const staged = await stage({ timeouts, environment: { egress: egressThrough(forward), passThrough: [files] } });
  const [api, login] = [new URL(staged.simulator.apiUrl), new URL(staged.simulator.loginUrl)];
  forward.hosts = { [api.host]: api.port, [login.host]: login.port };
  const nextTunnel = () =>
    new Promise<() => void>((resolve) => {
      onTunnel = resolve;
    });
  return { staged, nextTunnel };
}

it("sends nothing for a caller that leaves while the connection to the service is made", async () => {
  const { staged, nextTunnel } = await stageTunnels();
  const tunnel = nextTunnel();
  const connection = await RawConnection.open(staged.port);
  connection.write(rawPost({ more: [...more, `Countersign-Site: ${hmacSite}`] }));
  const open = await tunnel;
  await connection.leave();
  await letItRead(staged);
  open();
  expect(await finished(staged)).toMatchObject({ status: 499, outcome: "not_sent", code: undefined, callerLeft: true });
  expect(staged.simulator.counts().apiRequests).toBe(0);
});

it.each([
  ["an order", rawPost({ more })],
  ["a request that is passed through", rawRequest("GET /files/a", more)],
])("makes no second attempt for a caller that leaves while the connection for it is made: %s", async (_, request) => {
  const { staged, nextTunnel } = await stageTunnels();
  await staged.recorder.nth("token_adopted", 1);
  staged.clock.push(1_000);
  staged.simulator.faults.add({ host: "api", kind: "answer", status: 401, headers: { Connection: "close" } });
  const first = nextTunnel();
  const connection = await RawConnection.open(staged.port);
  connection.write(request);
  const openFirst = await first;
  const second = nextTunnel();
  openFirst();
  const open = await second;
  await connection.leave();
  await letItRead(staged);
  open();
  expect(await finished(staged)).toMatchObject({
    ...{ status: 401, outcome: "answered", attempts: 1, callerLeft: true },
    ...{ retry: "not_possible", retryReason: "caller_left" },
  });
  expect(staged.simulator.counts().apiRequests).toBe(1);
});

it.each([
  ["OAuth", []],
  ["HMAC", [`Countersign-Site: ${hmacSite}`]],
])("completes an order that was sent, once, and logs how it ended: %s", async (_, site) => {
  const staged = await stage();
  const { connection, release } = await openBehindHeld(staged, rawPost({ more: [...more, ...site] }));
  await connection.leave();
  await letItRead(staged);
  release();
  expect(await finished(staged)).toMatchObject({
    status: 200,
    outcome: "answered",
    by: "service",
    attempts: 1,
    callerLeft: true,
  });
  expect(staged.simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 1 });
});

it("logs that the outcome is unknown when no answer comes after the caller has left", async () => {
  const staged = await stage();
  const hurried = rawPost({ more: [...more, "Countersign-Timeout-Ms: 500"] });
  const { connection } = await openBehindHeld(staged, hurried);
  await connection.leave();
  expect(await finished(staged)).toMatchObject({
    status: 504,
    code: "upstream_timeout",
    outcome: "unknown",
    attempts: 1,
    callerLeft: true,
  });
  expect(staged.simulator.counts().apiRequests).toBe(1);
});

it("makes no second attempt after a 401 for a caller that has left", async () => {
  const staged = await stage();
  expect((await call(staged.url)).status).toBe(200);
  staged.simulator.revokeAllTokens();
  const { connection, release } = await openBehindHeld(staged, rawPost({ more }));
  await connection.leave();
  await letItRead(staged);
  release();
  expect(await finished(staged)).toMatchObject({
    status: 401,
    outcome: "answered",
    attempts: 1,
    callerLeft: true,
    retry: "not_possible",
    retryReason: "caller_left",
  });
  expect(staged.simulator.counts()).toMatchObject({ apiRequests: 2, accepted: 1, unauthorized: 1 });
});

it("reads a long answer to its end after its caller has left, to log how it ended", async () => {
  const staged = await stage();
  // More than the system's buffers hold: otherwise the whole answer would be written before the caller leaves.
  const body = "x".repeat(16_000_000);
  staged.simulator.faults.add({ host: "api", kind: "answer", status: 200, executes: true, body });
  const connection = await RawConnection.open(staged.port);
  connection.write(rawPost({ more }));
  await connection.until(/^HTTP\/1\.1 200 OK\r\n/);
  await connection.leave();
  expect(await finished(staged)).toMatchObject({ status: 200, outcome: "answered", by: "service", callerLeft: true });
  expect((await call(staged.url, order)).status).toBe(200);
  expect(staged.simulator.counts()).toMatchObject({ apiRequests: 2, accepted: 2 });
  expect(staged.recorder.count("defect")).toBe(0);
});
