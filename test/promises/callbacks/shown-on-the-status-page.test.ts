/** /status and the status page show the results of callbacks, and nothing of their contents. */
import { expect, it } from "vitest";
import { logOf } from "../../../testkit/log-lines.ts";
import { accepts } from "../../../testkit/stage/callbacks.ts";
import { type StageOf, stage } from "../../../testkit/stage.ts";
import { freshCallback, key, sendJson, site } from "./sender.ts";

const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const listener = "127.0.0.1:0";

it("before the first callback they show the listener, and nothing else", async () => {
  const staged = await stage("callbacks");
  const application = staged.application.url;
  expect(await statusOf(staged)).toEqual([
    { environment: "sandbox", listener, application, results: {}, unguarded: 0, recent: expect.anything() },
  ]);
  const page = await pageOf(staged);
  expect(page).toContain(`${listener} leads to ${application}`);
  expect(page).toContain("None yet.");
});

it("they count by result, show the last callback, the last that was not accepted and why, and nothing of their contents", async () => {
  const staged = await stage("callbacks");
  const { application, callbackPort, recorder } = staged;
  const callback = freshCallback({ customer: "Canary Customer" });
  for (let time = 0; time < 2; time += 1) await sendJson(callbackPort, callback);
  application.answerWith((response) => response.writeHead(418).end());
  await sendJson(callbackPort, freshCallback({ customer: "Canary Customer" }));
  const forged = await sendJson(callbackPort, { ...freshCallback(), customer: "Canary Forger" });
  await recorder.nth("callback_finished", 4);
  const [shown] = await statusOf(staged);
  const once = { count: 1, lastAt: isoTime };
  expect(shown).toMatchObject({
    results: { delivered: once, repeated: once, declined: once, signature_wrong: once },
    unguarded: 0,
  });
  const requestId = forged.headers["countersign-request-id"];
  expect(shown.lastFailure).toEqual({ at: isoTime, result: "signature_wrong", status: 401, site, requestId });
  const page = await pageOf(staged);
  expect(page).toContain("Callbacks: 1 × declined in sandbox");
  expect(page).not.toContain("was not taken");
  expect(page).toContain("It is not signed with the key that it names");
  for (const text of [page, JSON.stringify(shown)]) {
    for (const content of ["Canary", "customer", "order_paid", callback["signature"] ?? "", key]) {
      expect(text).not.toContain(content);
    }
  }
  application.answerWith(accepts);
  await sendJson(callbackPort, freshCallback());
  await recorder.nth("callback_finished", 5);
  expect(await pageOf(staged)).toContain("The last one failed");
  await application.stop();
  await sendJson(callbackPort, freshCallback());
  await recorder.nth("callback_finished", 6);
  const failure = {
    result: "application_unreachable",
    status: 502,
    cause: "ECONNREFUSED",
    site,
    server: new URL(application.url).origin,
  };
  expect((await statusOf(staged))[0].lastFailure).toMatchObject(failure);
  expect(logOf(recorder.events, "warn").of("callback_finished").at(-1).message).toMatch(
    /502 application_unreachable; http:\S+: connections are refused \(ECONNREFUSED\); see that it is up, and that host and port in application\.url are right$/,
  );
});

it("the headline is red when callbacks are refused or declined, and not when anybody sends what names no site", async () => {
  const staged = await stage("callbacks");
  const { application, callbackPort, recorder } = staged;
  const headline = async () =>
    /class="verdict headline (\w+)".*?<h2[^>]*>(.*?)<\/h2>/s.exec(await staged.page())?.slice(1);
  await sendJson(callbackPort, { customer: "nobody" });
  await recorder.nth("callback_finished", 1);
  expect(await headline()).toEqual(["idle", "No request in the last 5 min"]);
  for (let time = 0; time < 2; time += 1) await sendJson(callbackPort, { ...freshCallback(), event: "other" });
  await recorder.nth("callback_finished", 3);
  expect(await headline()).toEqual(["bad", "2 of 2 callbacks failed in the last 5 min"]);
  application.answerWith((response) => response.writeHead(418).end());
  await sendJson(callbackPort, freshCallback());
  await recorder.nth("callback_finished", 4);
  expect(await headline()).toEqual(["bad", "3 of 3 callbacks failed in the last 5 min"]);
  const page = await pageOf(staged);
  expect(page).toContain(`Callbacks: 2 × signature_wrong in sandbox, all of ${site}. It is not signed`);
  expect(page.indexOf("1 × declined")).toBeLessThan(page.indexOf("2 × signature_wrong"));
  expect(page).toContain(
    `Callbacks: 1 × declined in sandbox, all of ${site}. The application answered something else than 2xx. See the application&#39;s log. ${application.url}: answered 418. what to do`,
  );
  await application.stop();
  await sendJson(callbackPort, freshCallback());
  await recorder.nth("callback_finished", 5);
  expect(await pageOf(staged)).toMatch(
    /1 × application_unreachable in sandbox, all of S\d+\. http:\S+: connections are refused \(ECONNREFUSED\); see .* callbacks\[0\]\.application\.url/,
  );
});

it("a reload keeps a listener's counts, even if the application changes", async () => {
  const staged = await stage("callbacks");
  const { callbackPort, config, reload, recorder, application } = staged;
  await sendJson(callbackPort, freshCallback());
  await sendJson(callbackPort, { ...freshCallback(), event: "other" });
  await recorder.nth("callback_finished", 2);
  await reload({ limits: { ...config.limits, bodyBytes: 100_000 } });
  const counts = { results: { delivered: { count: 1 } }, lastFailure: { result: "signature_wrong" } };
  expect(await statusOf(staged)).toMatchObject([counts]);
  const [first = expect.unreachable()] = config.callbacks;
  const moved = { ...first, application: { ...first.application, url: { ...first.application.url, path: "/other" } } };
  await reload({ callbacks: [moved] });
  const [shown] = await statusOf(staged);
  expect(shown.application).toBe(`${new URL(application.url).origin}/other`);
  expect(shown).toMatchObject(counts);
});

async function statusOf({ status }: StageOf<"callbacks">) {
  return (await status()).callbacks;
}

async function pageOf({ page }: StageOf<"callbacks">): Promise<string> {
  return (await page()).replace(/<style>.*<\/style>/s, "").replace(/<[^>]*>/g, "");
}
