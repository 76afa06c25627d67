/** SIGTERM under 500 keep-alive callers fails no request, and the process ends once the last of them is served. */

import { expect, it } from "vitest";
import { type Called, call, order } from "../../testkit/call.ts";
import { keepAlive } from "../../testkit/keep-alive.ts";
import { startServed } from "./served.ts";

const callers = 500;
const requestTimeoutMs = 20_000;
const lastWordsMs = 2_000;

it("serves all requests of 500 callers until it has told each caller to close", async () => {
  const served = await startServed({ answerMs: 20, more: `limits: { inFlightPerEnvironment: ${callers} }` });
  let answered = 0;
  const running = Array.from({ length: callers }, () =>
    callOnAndOn(served.url, () => {
      answered += 1;
    }),
  );
  await expect.poll(() => answered, { timeout: 60_000 }).toBeGreaterThanOrEqual(3 * callers);
  const askedMs = performance.now();
  served.child.kill();
  const all = await Promise.all(running);
  const lastAnswerMs = performance.now();
  expect(await served.ended).toBe(0);
  const [drainMs, endMs] = [lastAnswerMs - askedMs, performance.now() - askedMs];
  process.stdout.write(
    `drain: ${callers} callers, ${answered} answers; the last ${Math.round(drainMs)} ms after SIGTERM, the end after ${Math.round(endMs)} ms\n`,
  );
  const answers = all.flatMap((each) => each.answers);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(served.upstream.requests).toHaveLength(answers.length);
  expect(new Set(all.map(({ after }) => after))).toEqual(new Set(["ECONNREFUSED"]));
  expect(endMs).toBeLessThan(requestTimeoutMs + lastWordsMs);
});

/** Calls without a pause until told to close. Resolves to all answers, and the result of one more call. */
async function callOnAndOn(url: string, onAnswer: () => void): Promise<{ answers: Called[]; after: string }> {
  const agent = keepAlive(1);
  const answers: Called[] = [];
  for (;;) {
    const answer = await call(url, order, { agent });
    answers.push(answer);
    onAnswer();
    if (answer.headers.connection !== "close") continue;
    const after = await call(url).then(
      ({ status }) => String(status),
      ({ code }) => String(code),
    );
    return { answers, after };
  }
}
