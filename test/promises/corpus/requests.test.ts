/**
 * Corpora of bytes: whatever a caller does to its framing, its target and its head, the service gets
 * nothing, or a request that Countersign framed, for a listed operation of the listener's own environment.
 */
import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import type { ApiRequest } from "../../../simulator/src/service/request-log.ts";
import { headerPairs } from "../../../testkit/header-pairs.ts";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { ask, RawConnection, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import type { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { type Stage, type StageOptions, stage } from "../../../testkit/stage.ts";
import {
  bytesOf,
  type Case,
  fallsSilent,
  framingCases,
  hangsUp,
  readerCases,
  readsAnswer,
  type Step,
} from "./framing.ts";
import { headerCases } from "./headers.ts";
import { targetsAt } from "./targets.ts";

const bodyTimeoutMs = 15_000;
const lingerMs = 1_000;
/** Far longer than any answer takes: a case that gets too few answers fails with a message, not by a timeout. */
const patienceMs = 5_000;

it.each(framingCases)(
  "the service sees one request, framed by us, for each answer of its own, after %s",
  async (_, cases) => playAll(() => cases),
);

it.each(readerCases)("neither a request that the reader refuses is served, nor one behind it: %s", async (_, cases) => {
  await playAll(
    () => cases,
    ({ answers }) => {
      const codes = answers.map(({ status, headers }) => [status, headers["countersign-error"]]);
      const [status] = answers.map((answer) => answer.status);
      expect(codes).toEqual([[status, status === 431 ? "headers_too_large" : "malformed_request"]]);
    },
  );
});

it("each target leads to a listed operation or nowhere", () => playAll(targetsAt));

const headCodes: Readonly<Record<number, RegExp>> = {
  400: /^(malformed_request|guarantee_not_given)$/,
  425: /^guarantee_not_given$/,
  403: /^(target_not_allowed|site_not_configured|auth_not_configured)$/,
  415: /^media_type_not_supported$/,
  431: /^headers_too_large$/,
};

const ofHeaders = headerCases.map(([name, given, status]): Case => [name, rawPost(given), [status]]);

it("of a caller's head only the allowed lines reach the service", async () => {
  const look = ({ answers, upstream: [request] }: Played, nth: number, { apiUrl }: Stage["simulator"]) => {
    const [name, , status, passed = []] = headerCases[nth] ?? expect.unreachable();
    const [answer] = answers;
    expect.soft(answer?.headers["countersign-error"] ?? "", name).toMatch(headCodes[status] ?? /^$/);
    if (request === undefined) return;
    const ours = [
      `host: ${new URL(apiUrl).host}`,
      "connection: keep-alive",
      "accept: application/json",
      "content-type: application/json",
      "authorization: Bearer token_1",
      "via: 1.1 countersign",
      `content-length: ${request.body.length}`,
      `x-request-id: ${answer?.headers["countersign-request-id"]}`,
    ];
    const lines = headerPairs(request.rawHeaders).map((pair) => pair.join(": "));
    expect.soft(lines.sort(), name).toEqual([...ours, ...passed].sort());
  };
  await playAll(() => ofHeaders, look, { environment: { forwardHeaders: ["x-tenant"] } });
});

it.each([
  [
    "framing",
    300,
    [...framingCases, ...readerCases].flatMap(([title, cases]) =>
      cases.map(([name, ...rest]): Case => [`${title}: ${name}`, ...rest]),
    ),
  ],
  ["targets", 120, targetsAt("127.0.0.1:80")],
  ["headers", 100, ofHeaders],
] as const)("the corpus of %s has at least %i cases, each of its own name and bytes", (_, atLeast, cases) => {
  expect(cases.length).toBeGreaterThanOrEqual(atLeast);
  expect(repeated(cases.map(([name]) => name))).toEqual([]);
  expect(repeated(cases.map(bytesOf))).toEqual([]);
});

function repeated(texts: readonly string[]): string[] {
  return texts.filter((text, index) => texts.indexOf(text) !== index);
}

/**
 * Plays a case on a connection of its own, and a plain order on another one after it.
 * @returns all answers, what the service got in between, and the status of that order
 */
async function play(staged: Stage, [, steps, statuses]: Case) {
  const { clock, port, simulator } = staged;
  const seen = simulator.counts().apiRequests;
  const connection = await RawConnection.open(port);
  let read = 0;
  connection.socket.setTimeout(patienceMs, () => connection.socket.destroy());
  for (const step of typeof steps === "string" ? [steps] : steps) await take(step);
  await answered(connection, statuses.length);
  // Skips the time in which the proxy reads the rest of a refused request.
  pass(clock, lingerMs);
  connection.socket.end();
  const answers = readAnswers(await connection.closed);
  const next = (await ask(port)).status;
  const upstream = simulator.seen.apiRequests.slice(seen, next === 200 ? -1 : undefined);
  return { answers, upstream, next };

  async function take(step: Step): Promise<void> {
    if (step === hangsUp) connection.socket.end();
    else if (step === fallsSilent) {
      await whenInFlight(staged, 1);
      pass(clock, bodyTimeoutMs);
    } else if (step === readsAnswer) await answered(connection, ++read);
    else connection.write(step);
    await nextTurn();
  }
}

type Played = Awaited<ReturnType<typeof play>>;

/** Plays cases one after the other, checks each against its statuses, and lets the test check the result. */
async function playAll(
  cases: (ownAuthority: string) => readonly Case[],
  look: (played: Played, nth: number, simulator: Stage["simulator"]) => void = () => {},
  options: StageOptions = {},
): Promise<void> {
  const staged = await stage(options);
  const { simulator } = staged;
  let served = 0;
  for (const [nth, one] of cases(new URL(simulator.apiUrl).host).entries()) {
    const [name, , statuses] = one;
    const played = await play(staged, one);
    const { answers, upstream, next } = played;
    const expected = statuses.filter((status) => status === 200).map(() => "POST /json-api/create_order framed by us");
    expect
      .soft({ statuses: answers.map(({ status }) => status), upstream: upstream.map(describeRequest), next }, name)
      .toEqual({ statuses, upstream: expected, next: 200 });
    look(played, nth, simulator);
    served += expected.length + 1;
  }
  expect(simulator.counts()).toMatchObject({ apiRequests: served, accepted: served, malformed: 0, incomplete: 0 });
}

/** A request as the service got it: it must be a POST of ours, framed by its length. */
function describeRequest({ method, target, rawHeaders, body }: ApiRequest): string {
  const framing = headerPairs(rawHeaders)
    .filter(([name]) => /^(content-length|transfer-encoding|expect|upgrade|te|trailer)$/.test(name))
    .map(([name, value]) => `${name}: ${value}`);
  const isOurs = framing.join() === `content-length: ${body.length}` && !String(body).includes("smuggled");
  return `${method} ${target} ${isOurs ? "framed by us" : framing.join(", ")}`;
}

/** Moves the wall clock back by as much as it moves all on: else stamps would come from the service's future. */
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
    // In the middle of an answer, which is counted once it is whole.
    return -1;
  }
}
