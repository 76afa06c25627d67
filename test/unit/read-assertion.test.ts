/** How a token request reads the platform's token. */
import { expect, it } from "vitest";
import { createReadAssertion } from "../../src/app/upstreams.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";
import { platformToken } from "../../testkit/platform-token.ts";

it("a disk that hangs delays one token request for a second, and no later one", async () => {
  const clock = new FakeClock();
  const token = platformToken({ exp: 2_000_000_000 });
  const answers = [
    new Promise<never>(() => {}),
    Promise.resolve({ bytes: Buffer.from(token), mode: 0o400, stamp: "" }),
  ];
  const read = createReadAssertion(clock, () => answers.shift() ?? Promise.reject(new Error("none is left")));
  const first = read("/run/token");
  await clock.advance(1_000);
  expect(await first).toEqual({ kind: "failed", cause: "assertion file /run/token: not read in time" });
  expect(await read("/run/token")).toEqual({ text: token, expiresAtMs: 2_000_000_000_000 });
});
