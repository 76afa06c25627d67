/** A defect is answered with what is known of the callback, and leaves no request in flight and no memory charged. */
import { expect, it } from "vitest";
import { createMemoryClaimRecords } from "../../../src/adapters/memory/claim-records.ts";
import type { ApplicationResponse, Deliver } from "../../../src/callbacks/application.ts";
import { createCallbackHandler } from "../../../src/callbacks/handler.ts";
import { Claims } from "../../../src/claims/claim.ts";
import type { CallbackFinished, Event } from "../../../src/model/events.ts";
import { Secret } from "../../../src/model/secret.ts";
import { BufferBudget } from "../../../src/serving/buffer-budget.ts";
import { ConcurrencyLimit } from "../../../src/serving/concurrency-limit.ts";
import type { Answer, CallerRequest } from "../../../src/serving/messages.ts";
import { environmentOf, siteOf } from "../../../testkit/environment.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";
import { callbackOf, key, secret, site } from "./sender.ts";

const answered = (body: Promise<Uint8Array>): ApplicationResponse => ({ status: 200, headers: [], body });

it.each<[string, Deliver]>([
  ["a defect while the callback is handed over", () => Promise.reject(new TypeError("a defect"))],
  ["a defect while the answer is read", async () => answered(Promise.reject(new TypeError("a defect")))],
])("%s: the application may have taken the callback", async (_, deliver) => {
  const { finished, replies, inFlight, used } = await serve(deliver);
  expect(finished).toMatchObject({ result: "internal", status: 500, outcome: "unknown" });
  expect(replies).toHaveLength(1);
  expect(replies[0]?.headers).toEqual(expect.arrayContaining(["Countersign-Outcome", "unknown"]));
  expect(String(replies[0]?.body)).toContain("may have taken the callback");
  expect([inFlight, used]).toEqual([0, 0]);
});

/** Serves one genuine callback, which `deliver` hands to the application. */
async function serve(deliver: Deliver) {
  const clock = new FakeClock();
  const defaultKey = { identifier: key, version: "3.0", secret: new Secret(Buffer.from(secret)) };
  const environment = environmentOf([siteOf(site, { keys: [defaultKey] })]);
  const events: Event[] = [];
  const concurrency = new ConcurrencyLimit(1);
  const buffers = new BufferBudget(10_000_000, clock);
  const claims = new Claims(createMemoryClaimRecords(clock), clock);
  const handler = createCallbackHandler(
    {
      ...{ clock, deliver, concurrency, buffers, claims, requestMs: 10_000 },
      report: (event) => void events.push(event),
      newRequestId: () => "r1",
    },
    {
      ...{ environment, listener: "here", application: "test http://app/", server: "http://app", path: "/" },
      ...{ exempt: new Set(["signature"]), rememberMs: 300_000, mode: "strict", timeoutMs: 1_000 },
    },
  );
  const replies: Answer[] = [];
  const timestamp = String(Math.floor(clock.wallMs() / 1_000));
  await handler.handle({
    ...{ method: "POST", target: "/", headers: ["Host", "x", "Content-Type", "application/json"], headBytes: 0 },
    readBody: () => Buffer.from(JSON.stringify(callbackOf({ timestamp }))),
    isClosed: () => false,
    answeredStatus: () => undefined,
    answer: (response: Answer) => void replies.push(response),
  } as unknown as CallerRequest);
  const finished = events.find((event): event is CallbackFinished => event.kind === "callback_finished");
  return { finished, replies, inFlight: concurrency.inFlight, used: buffers.usedBytes };
}
