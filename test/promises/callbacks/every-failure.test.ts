/** Each failure that only callbacks have, provoked over real sockets with each of its outcomes. */
import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { type Failure, type FailureCode, failures, type Outcome } from "../../../src/model/errors.ts";
import { failureType } from "../../../src/serving/answer.ts";
import { homepage } from "../../../src/version.ts";
import { freePort } from "../../../testkit/free-port.ts";
import type { RawAnswer } from "../../../testkit/raw-caller.ts";
import { accessTo, nodeAt } from "../../../testkit/redis-replica.ts";
import { accepts, type application } from "../../../testkit/stage/callbacks.ts";
import { stage } from "../../../testkit/stage.ts";
import { callbackOf, freshCallback, sendJson } from "./sender.ts";

/** Sends a callback for an application that the test plays on a bare socket. */
const sendTo = async (...to: Parameters<typeof application>) =>
  sendJson((await stage("application", ...to)).callbackPort, freshCallback());

const resets = (socket: Socket) => void socket.once("data", () => socket.resetAndDestroy());

const sending = (callback: ReturnType<typeof callbackOf>) => async () =>
  sendJson((await stage("callbacks")).callbackPort, callback);

const cases: readonly Case[] = [
  { code: "callback_not_genuine", provoke: sending(callbackOf({}, "someone's key of 16 bytes")) },
  { code: "callback_too_old", provoke: sending(callbackOf({ timestamp: "1" })) },
  { code: "callback_too_early", provoke: sending(callbackOf({ timestamp: "99999999999" })) },
  {
    code: "callback_replayed",
    async provoke() {
      const { callbackPort } = await stage("callbacks");
      const callback = freshCallback();
      await sendJson(callbackPort, callback);
      return sendJson(callbackPort, { ...callback, format: "other" });
    },
  },
  {
    code: "callback_in_delivery",
    async provoke() {
      const { application, callbackPort } = await stage("callbacks");
      let finish = () => {};
      application.answerWith((response, received) => {
        finish = () => accepts(response, received);
      });
      const callback = freshCallback();
      const first = sendJson(callbackPort, callback);
      await expect.poll(() => application.received.length).toBe(1);
      const second = await sendJson(callbackPort, callback);
      finish();
      await first;
      return second;
    },
  },
  {
    code: "replay_store_unavailable",
    async provoke() {
      const redis = accessTo(nodeAt(await freePort()));
      const { callbackPort } = await stage("callbacks", { config: { tokens: { cache: "redis", redis } } });
      return sendJson(callbackPort, freshCallback());
    },
  },
  {
    code: "application_unreachable",
    async provoke() {
      const { application, callbackPort } = await stage("callbacks");
      await application.stop();
      return sendJson(callbackPort, freshCallback());
    },
  },
  { code: "application_failed", outcome: "unknown", provoke: () => sendTo(resets) },
  { code: "application_timeout", outcome: "unknown", provoke: () => sendTo(() => {}, { timeoutMs: 200 }) },
  { code: "application_timeout", provoke: () => sendTo(() => {}, { scheme: "https", timeoutMs: 200 }) },
];

it.each(cases.map((one) => ({ outcome: "not_sent", ...one })))(
  "$code, $outcome",
  async ({ code, outcome, provoke }) => {
    const { status, headers, text } = await provoke();
    const problem = JSON.parse(text);
    expect(problem).toMatchObject({ type: failureType(code, undefined, homepage), code, outcome, status });
    expect({ [code]: status }).toEqual({ [code]: failures[code].status });
    expect(headers).toMatchObject({ "countersign-error": code, "countersign-outcome": outcome });
    expect(headers["countersign-request-id"]).toBe(problem.request_id);
    expect(text.endsWith("}\n")).toBe(true);
    expect(/\. \d+\.\d s had passed by then\. /.test(problem.detail)).toBe(status === 504);
    expect(problem.detail).toMatch(
      outcome === "not_sent" ? /Nothing reached the application\.$/ : /may have taken the callback; send it again\.$/,
    );
  },
);

it("a failure's type is a URL of the documentation if docsUrl is set", async () => {
  const { callbackPort } = await stage("callbacks", { config: { docsUrl: "https://docs.example" } });
  const { text } = await sendJson(callbackPort, callbackOf({ timestamp: "1" }));
  expect(JSON.parse(text).type).toBe("https://docs.example/docs/reference/errors.html#callback_too_old");
});

it("no failure of callbacks is left out", () => {
  const named = Object.entries<Failure>(failures).flatMap(([code, { only, outcomes }]) =>
    only === "callback" ? outcomes.map((outcome) => `${code} ${outcome}`) : [],
  );
  expect(cases.map(({ code, outcome = "not_sent" }) => `${code} ${outcome}`).sort()).toEqual(named.sort());
});

interface Case {
  readonly code: FailureCode;
  /** Default `not_sent`. */
  readonly outcome?: Outcome;
  readonly provoke: () => Promise<RawAnswer>;
}
