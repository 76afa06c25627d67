import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { FaultAction } from "../../../simulator/src/service/fault.ts";
import { call } from "../../../testkit/call.ts";
import {
  byCalling,
  callBadly,
  type FailureCase,
  type Provoked,
  reference,
  type Wrong,
} from "../../../testkit/failure-case.ts";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { RawConnection, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { audience, hmacSite, oauthSite, stageConnected, stageProxy } from "../../../testkit/stage.ts";
import { files } from "../pass-through/stage.ts";

/** Nobody listens on it. */
const deadUrl = "http://127.0.0.1:1";

/** Fails once when it is told to, as a clock that is broken might. */
class BreakableClock extends ShiftedClock {
  isBroken = false;

  override wallMs(): number {
    if (!this.isBroken) return super.wallMs();
    this.isBroken = false;
    throw new Error("the clock is broken");
  }
}

/** Every way in which the service, the authorization server or Countersign itself is at fault: 500 to 504. */
export const failuresAfterAdmission: readonly FailureCase[] = [
  {
    code: "upstream_unreachable",
    way: "the service refuses connections",
    status: 502,
    detail: /^The service refuses connections \(ECONNREFUSED\)\./,
    async provoke() {
      const stage = await stageProxy();
      await stage.simulator.stopApi();
      return { stage, answer: await callBadly(stage) };
    },
  },
  {
    code: "body_incomplete",
    way: "the body of a pass-through request breaks off",
    status: 400,
    outcome: "unknown",
    detail: /^(The connection closed before the body|The request)/,
    provoke: breakOff,
  },
  {
    code: "credentials_refused",
    way: "the authorization server knows neither set's secret",
    status: 502,
    detail:
      /^The authorization server refused credential "blue" \(client blue-id, site S1000000001\) and credential "green" /,
    provoke: byCalling(
      {},
      {
        simulator: {
          sites: [
            {
              identifier: oauthSite,
              credentials: [
                { clientId: "blue-id", clientSecret: "another secret than blue's", audience },
                { clientId: "green-id", clientSecret: "another secret than green's", audience },
              ],
            },
          ],
        },
      },
    ),
  },
  {
    code: "upstream_reset",
    way: "the connection is reset after the order was read",
    status: 502,
    outcome: "unknown",
    sent: 1,
    detail: /^The connection to the service broke before the answer was complete/,
    provoke: facing({ kind: "reset", when: "after_reading" }),
  },
  {
    code: "upstream_bad_response",
    way: "the answer is not HTTP",
    status: 502,
    outcome: "unknown",
    sent: 1,
    detail: /^The service's answer is not HTTP\/1\.1/,
    provoke: facing({ kind: "raw", bytes: "220 mail.example ESMTP\r\n" }),
  },
  {
    code: "token_unavailable",
    way: "the authorization server refuses connections",
    status: 503,
    detail:
      /^No token for credential "blue" \(client blue-id, site S1000000001\): the authorization server could not be reached, or gave no complete answer \(ECONNREFUSED\)\. Next try in /,
    provoke: byCalling({ headers: { "Countersign-Timeout-Ms": "1000" } }, { authUrl: deadUrl }),
  },
  {
    code: "overloaded",
    way: "too many requests",
    status: 503,
    sent: 1,
    detail: /^1 requests are in flight/,
    provoke: crowd,
  },
  {
    code: "overloaded",
    way: "too many connections",
    status: 503,
    detail: /^2 connections are open/,
    async provoke() {
      const stage = await stageProxy({ limits: { connections: 2 } });
      await RawConnection.open(stage.port);
      await RawConnection.open(stage.port);
      return { stage, answer: await callBadly(stage) };
    },
  },
  { code: "draining", way: "the time to end is up", status: 503, sent: 1, detail: /shutting down/, provoke: drainAway },
  {
    code: "upstream_timeout",
    way: "the service does not answer",
    status: 504,
    outcome: "unknown",
    sent: 1,
    detail: /^No answer came in time\. (?!0\.[0-2])\d+\.\d s had passed by then\. create_order was sent\./,
    provoke: facing({ kind: "hang" }, { headers: { "Countersign-Timeout-Ms": "300" } }),
  },
  {
    code: "upstream_timeout",
    way: "the connection is not ready in time",
    status: 504,
    detail:
      /^No connection to the service was ready in time\. (?!0\.[0-2])\d+\.\d s had passed by then\. Nothing was sent\./,
    async provoke() {
      // It accepts connections, but never speaks TLS.
      const { port } = await startRawUpstream();
      const stage = await stageProxy({ baseUrl: `https://127.0.0.1:${port}/json-api` });
      return { stage, answer: await callBadly(stage, { headers: { "Countersign-Timeout-Ms": "300" } }) };
    },
  },
  {
    code: "internal",
    way: "a defect before anything is sent",
    status: 500,
    detail: /failed in a way that it should not/,
    // The configuration never lets a site through that signs without a key.
    provoke: byCalling({ headers: { "Countersign-Site": hmacSite } }, { site: { keys: [], defaultKey: undefined } }),
  },
  {
    code: "internal",
    way: "a defect after the order was sent",
    status: 500,
    outcome: "unknown",
    sent: 1,
    detail: /failed in a way that it should not/,
    async provoke() {
      const clock = new BreakableClock();
      const stage = await stageProxy({ surroundings: { clock } });
      const hanging = stage.simulator.faults.add({ host: "api", kind: "hang" });
      const calling = callBadly(stage);
      await hanging.whenPlayed(1);
      clock.isBroken = true;
      hanging.release();
      return { stage, answer: await calling };
    },
  },
];

/** The service plays this fault. */
function facing(fault: FaultAction, wrong: Wrong = {}): FailureCase["provoke"] {
  return async () => {
    const stage = await stageProxy();
    stage.simulator.faults.add({ host: "api", ...fault });
    return { stage, answer: await callBadly(stage, wrong) };
  };
}

/** The body of a pass-through request breaks off when its head has gone on. */
async function breakOff(): Promise<Provoked> {
  const { connection: caller, ...stage } = await stageConnected({ environment: { passThrough: [files] } });
  const framing = ["Content-Length: 100"];
  const more = [`Countersign-Reference: ${reference}`];
  caller.write(rawPost({ method: "PUT", target: "/files/a", framing, more, body: "some" }));
  await whenInFlight(stage, 1);
  await delay(100);
  caller.socket.end();
  const [answer] = readAnswers(await caller.ended());
  if (answer === undefined) throw new Error("no answer");
  return { stage, answer };
}

/** The only place is taken by a request that hangs. */
async function crowd(): Promise<Provoked> {
  const stage = await stageProxy({ limits: { inFlightPerEnvironment: 1 } });
  const hanging = stage.simulator.faults.add({ host: "api", kind: "hang" });
  const first = call(stage.url);
  await hanging.whenPlayed(1);
  const answer = await callBadly(stage);
  hanging.release();
  await first;
  return { stage, answer };
}

/** A request that had begun before the end is complete when the last request's time has run out. */
async function drainAway(): Promise<Provoked> {
  const { connection: late, ...stage } = await stageConnected();
  const bytes = rawPost({ connection: [], more: [`Countersign-Reference: ${reference}`] });
  late.write(bytes.slice(0, 20));
  const hanging = stage.simulator.faults.add({ host: "api", kind: "hang" });
  // Connections are taken in their order, so the late one has been read from when this one's request hangs.
  const first = call(stage.url);
  await hanging.whenPlayed(1);
  const stopping = stage.proxy.stop("SIGTERM");
  stage.clock.push(stage.config.timeouts.requestMs);
  await first;
  await untilRefused(stage.port);
  late.write(bytes.slice(20));
  const [answer] = readAnswers(await late.ended());
  late.socket.end();
  await stopping;
  if (answer === undefined) throw new Error("no answer");
  return { stage, answer };
}

/** Nobody listens any more, and with that the time is up here. */
async function untilRefused(port: number): Promise<void> {
  for (;;) {
    const probe = connect({ port, host: "127.0.0.1" });
    const isTaken = await once(probe, "connect").then(
      () => true,
      () => false,
    );
    probe.destroy();
    if (!isTaken) return;
  }
}
