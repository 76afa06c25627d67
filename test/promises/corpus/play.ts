import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect } from "vitest";
import type { ApiRequest } from "../../../simulator/src/service/request-log.ts";
import { headerPairs } from "../../../testkit/header-pairs.ts";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { ask, type RawAnswered, RawConnection, readAnswers } from "../../../testkit/raw-caller.ts";
import type { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { type Stage, stageProxy } from "../../../testkit/stage.ts";
import { type Case, fallsSilent, hangsUp, readsAnswer, type Step } from "./case.ts";

/** What came of a case. */
export interface Played {
  readonly answers: readonly RawAnswered[];
  /** What the service got between this case and the next plain order, which is not among them. */
  readonly upstream: readonly ApiRequest[];
  /** The status of a plain order on a new connection afterwards. */
  readonly next: number;
}

const bodyTimeoutMs = 15_000;
const lingerMs = 1_000;
/** Far beyond what any answer takes: who gets fewer than were foretold is told so, not left waiting. */
const patienceMs = 5_000;

/** Plays a case on a connection of its own, and a plain order on another one after it. */
export async function play(stage: Stage, [, steps, statuses]: Case): Promise<Played> {
  const { clock, port, simulator } = stage;
  const seen = simulator.counts().apiRequests;
  const connection = await RawConnection.open(port);
  let read = 0;
  connection.socket.setTimeout(patienceMs, () => connection.socket.destroy());
  for (const step of typeof steps === "string" ? [steps] : steps) await take(step);
  await answered(connection, statuses.length);
  // No need to wait while the proxy takes in the rest of what it refused.
  pass(clock, lingerMs);
  connection.socket.end();
  const answers = readAnswers(await connection.closed);
  const next = (await ask(port)).status;
  const upstream = simulator.seen.apiRequests.slice(seen, next === 200 ? -1 : undefined);
  return { answers, upstream, next };

  async function take(step: Step): Promise<void> {
    if (step === hangsUp) connection.socket.end();
    else if (step === fallsSilent) {
      await whenInFlight(stage, 1);
      pass(clock, bodyTimeoutMs);
    } else if (step === readsAnswer) await answered(connection, ++read);
    else connection.write(step);
    await nextTurn();
  }
}

/** Plays them one after the other, and holds each to what it foretells. @returns the codes of all failures */
export async function playAll(cases: (ownAuthority: string) => readonly Case[]): Promise<(string | undefined)[]> {
  const stage = await stageProxy();
  const { simulator } = stage;
  const codes: (string | undefined)[] = [];
  let served = 0;
  for (const played of cases(new URL(simulator.apiUrl).host)) {
    const [name, , statuses] = played;
    const { answers, upstream, next } = await play(stage, played);
    const expected = statuses.filter((status) => status === 200).map(() => "POST /json-api/create_order framed by us");
    expect
      .soft({ statuses: answers.map(({ status }) => status), upstream: upstream.map(describeRequest), next }, name)
      .toEqual({ statuses, upstream: expected, next: 200 });
    codes.push(...answers.map(({ headers }) => headers["countersign-error"]));
    served += expected.length + 1;
  }
  expect(simulator.counts()).toMatchObject({ apiRequests: served, accepted: served, malformed: 0, incomplete: 0 });
  return codes;
}

/** How the service was asked: nothing but a POST of ours, framed by its length. */
export function describeRequest({ method, target, rawHeaders, body }: ApiRequest): string {
  const framing = headerPairs(rawHeaders)
    .filter(([name]) => /^(content-length|transfer-encoding|expect|upgrade|te|trailer)$/.test(name))
    .map(([name, value]) => `${name}: ${value}`);
  const isOurs = framing.join() === `content-length: ${body.length}` && !String(body).includes("smuggled");
  return `${method} ${target} ${isOurs ? "framed by us" : framing.join(", ")}`;
}

/** The service's own clock stands still for that, so that no stamp comes from its future. */
function pass(clock: ShiftedClock, ms: number): void {
  clock.jumpWall(-ms);
  clock.push(ms);
}

/** Resolves when that many whole answers have come, or nothing more will. */
async function answered(connection: RawConnection, count: number): Promise<void> {
  const { socket, closed } = connection;
  while (!socket.readableEnded && !socket.destroyed && countAnswers(await connection.until(/^/)) < count) {
    await Promise.race([once(socket, "text"), once(socket, "end"), closed]);
  }
}

function countAnswers(text: string): number {
  try {
    return readAnswers(text).length;
  } catch {
    // In the middle of one: it will be counted when it is whole.
    return -1;
  }
}
