/** The examples wait longer than Countersign's own 20 s, and then say that the order may exist. */
import { expect, it } from "vitest";
import { startRawUpstream } from "../../testkit/raw-upstream.ts";
import { clients } from "./clients.ts";
import { runClient, variantsOf } from "./measures.ts";

const advice = "order-1 may exist: look for it before you send it again";

it("every example that this machine can run waits 25 s for an answer, then says that the order may exist", async () => {
  const examples = clients.flatMap((client) => variantsOf(client).set ?? []).filter(({ isExample }) => isExample);
  // Compilers block this process, so they run before the measurement.
  for (const { command } of examples) command();
  const waits = await Promise.all(
    examples.map(async (example) => {
      let waitedMs = 0;
      const silent = await startRawUpstream({
        answer(_, socket) {
          const beganMs = performance.now();
          socket.once("close", () => {
            waitedMs = performance.now() - beganMs;
          });
        },
      });
      const { code, stderr } = await runClient(example, { BASE_URL: silent.url });
      const { length: requests } = silent.requests;
      const advised = stderr.includes(advice);
      return { name: example.client.name, code, requests, advised, seconds: Math.floor(waitedMs / 1_000) };
    }),
  );
  // 25 on an idle machine. On a busy one the order is read late, or the end of the connection is seen late.
  const seconds = expect.toBeOneOf([21, 22, 23, 24, 25, 26, 27, 28, 29]);
  expect(waits).toEqual(
    examples.map(({ client: { name } }) => ({ name, code: 1, requests: 1, advised: true, seconds })),
  );
});
