/** Each failure that only callbacks have, provoked over real sockets with each of its outcomes. */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import type { FailureCode, Outcome } from "../../../src/model/errors.ts";
import { callbackFailures } from "../../../src/model/further-failures.ts";
import { addressOf } from "../../../testkit/address.ts";
import { freePort } from "../../../testkit/free-port.ts";
import type { RawAnswered } from "../../../testkit/raw-caller.ts";
import { accessTo, nodeAt } from "../../../testkit/redis-replica.ts";
import { callbackOf } from "./sender.ts";
import { accepts, freshCallback, sendJson, stageCallbacks } from "./stage.ts";

interface Case {
  readonly code: FailureCode;
  readonly outcome: Outcome;
  readonly provoke: () => Promise<RawAnswered>;
}

const tls = { ca: undefined, cert: undefined, key: undefined };

/** A callback for an application below HTTP. */
async function sendTo(scheme: string, serve: (socket: Socket) => void, timeoutMs = 5_000): Promise<RawAnswered> {
  const server = createServer((socket) => serve(socket.on("error", () => {}))).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as { readonly port: number };
  const application = { url: addressOf(`${scheme}://127.0.0.1:${port}`), timeoutMs, tls };
  const { callbackPort } = await stageCallbacks({ listener: { application } });
  return sendJson(callbackPort, freshCallback());
}

const cases: readonly Case[] = [
  {
    code: "callback_not_genuine",
    outcome: "not_sent",
    provoke: async () => sendJson((await stageCallbacks()).callbackPort, callbackOf({}, "someone's key of 16 bytes")),
  },
  {
    code: "callback_replayed",
    outcome: "not_sent",
    async provoke() {
      const { callbackPort } = await stageCallbacks();
      const callback = freshCallback();
      await sendJson(callbackPort, callback);
      return sendJson(callbackPort, { ...callback, format: "other" });
    },
  },
  {
    code: "callback_in_delivery",
    outcome: "not_sent",
    async provoke() {
      const { application, callbackPort } = await stageCallbacks();
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
    outcome: "not_sent",
    async provoke() {
      const redis = accessTo(nodeAt(await freePort()));
      const { callbackPort } = await stageCallbacks({ config: { tokens: { cache: "redis", redis } } });
      return sendJson(callbackPort, freshCallback());
    },
  },
  {
    code: "application_unreachable",
    outcome: "not_sent",
    async provoke() {
      const { application, callbackPort } = await stageCallbacks();
      await application.stop();
      return sendJson(callbackPort, freshCallback());
    },
  },
  {
    code: "application_failed",
    outcome: "unknown",
    provoke: () => sendTo("http", (socket) => socket.once("data", () => socket.resetAndDestroy())),
  },
  { code: "application_timeout", outcome: "unknown", provoke: () => sendTo("http", () => {}, 200) },
  { code: "application_timeout", outcome: "not_sent", provoke: () => sendTo("https", () => {}, 200) },
];

it.each(cases)("$code, $outcome", async ({ code, outcome, provoke }) => {
  const { status, headers, text } = await provoke();
  const problem = JSON.parse(text);
  expect(problem).toMatchObject({ type: `urn:countersign:failure:${code}`, code, outcome, status });
  expect({ [code]: status }).toEqual({ [code]: callbackFailures[code as keyof typeof callbackFailures].status });
  expect(headers).toMatchObject({ "countersign-error": code, "countersign-outcome": outcome });
  expect(headers["countersign-request-id"]).toBe(problem.request_id);
  expect(problem.detail).toMatch(
    outcome === "not_sent" ? /Nothing reached the application\.$/ : /may have taken the callback; send it again\.$/,
  );
});

it("none is left out", () => {
  const named = Object.entries(callbackFailures).flatMap(([code, { outcomes }]) =>
    outcomes.map((outcome) => `${code} ${outcome}`),
  );
  expect(cases.map(({ code, outcome }) => `${code} ${outcome}`).sort()).toEqual(named.sort());
});
