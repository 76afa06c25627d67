/** If a retry could not be answered by the deadline, the first 401, which is certain, is passed on. */
import { expect, it } from "vitest";
import { orderRaw } from "../../../testkit/raw-caller.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { stage } from "../../../testkit/stage.ts";

const passedOn = { told: ["401 answered"], retries: ["not_possible too_late"], sentAgain: 0 };

it("the 401 is passed on if at most a fifth of the request's time is left", async () => {
  expect(await orderRevoked({ deadlineMs: 2_000, tokenMs: 1_600 }, 80)).toEqual(passedOn);
});

it("the 401 is passed on if less time is left than the 401 took", async () => {
  expect(await orderRevoked({ deadlineMs: 5_000, tokenMs: 2_300, refusalMs: 1_400 }, 1)).toEqual(passedOn);
});

it("the 401 is passed on if less time is left than the service took for recent orders", async () => {
  expect(await orderRevoked({ deadlineMs: 5_000, tokenMs: 3_700, orderMs: 1_400 }, 20)).toEqual(passedOn);
});

it("the order is sent again if half of the time is left, however slow an order was", async () => {
  const times = { deadlineMs: 10_000, tokenMs: 2_000, orderMs: 9_000 };
  expect(await orderRevoked(times, 1)).toMatchObject({ retries: ["cured"], sentAgain: 1 });
});

it("each order is sent again once if there is time", async () => {
  const cured = { told: ["200 answered"], retries: ["cured"], sentAgain: 20 };
  expect(await orderRevoked({ deadlineMs: 10_000, tokenMs: 3_000 }, 20)).toEqual(cured);
});

/** Times of the proxy's clock, which the test moves on; real time comes on top. */
interface Times {
  readonly deadlineMs: number;
  /** How long orders wait for the new token. */
  readonly tokenMs: number;
  /** How long the service took for an order before, and for its refusal. */
  readonly orderMs?: number;
  readonly refusalMs?: number;
}

/** Orders with a revoked token: the service refuses it, and a new token comes once all orders wait for one. */
async function orderRevoked({ deadlineMs, tokenMs, orderMs = 0, refusalMs = 0 }: Times, orders: number) {
  const clock = new ShiftedClock();
  let isRevoked = false;
  const service = await startRawUpstream({
    answer({ head }, socket) {
      const isRefused = isRevoked && head.includes("Bearer token-1\r\n");
      if (isRefused) clock.push(refusalMs);
      else if (!isRevoked) clock.push(orderMs);
      socket.write(rawAnswer(isRefused ? 401 : 200));
    },
  });
  let issueNext = () => {};
  const login = await startRawUpstream({
    answer({ number }, socket) {
      const token = { access_token: `token-${number}`, token_type: "Bearer", expires_in: 3_600 };
      const issue = () => void socket.write(rawAnswer(200, JSON.stringify(token)));
      if (number === 1) issue();
      else issueNext = issue;
    },
  });
  const timeouts = { requestMs: 10_000, tokenMs: 10_000 };
  const more = { surroundings: { clock }, timeouts, oneSet: true };
  const { port, recorder } = await stage({ baseUrl: service.url, authUrl: login.url, ...more });
  await recorder.nth("token_adopted", 1);
  expect((await orderRaw(port)).status).toBe(200);
  isRevoked = true;
  // Two refreshes are at least a second apart.
  clock.push(1_000);
  const headers = { "Countersign-Timeout-Ms": String(deadlineMs) };
  const answers = Array.from({ length: orders }, () => orderRaw(port, headers));
  await recorder.nth("upstream_unauthorized", orders);
  await login.whenRequests(2);
  clock.push(tokenMs);
  issueNext();
  const told = (await Promise.all(answers)).map((each) => `${each.status} ${each.value("countersign-outcome")}`);
  await recorder.nth("request_finished", 1 + orders);
  const retries = recorder
    .of("request_finished")
    .slice(1)
    .map(({ retry, retryReason }) => [retry, retryReason].join(" ").trim());
  return { told: [...new Set(told)], retries: [...new Set(retries)], sentAgain: service.requests.length - 1 - orders };
}
