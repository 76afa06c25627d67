/** Row 69: slow bodies take no place and little memory, however many one caller sends, again and again; the others are served as ever. */
import { once } from "node:events";
import { Agent } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { RawConnection, rawPost } from "../../testkit/raw-caller.ts";
import { print } from "../fleet/redis/load.ts";
import { p99Of, startServed } from "./served.ts";

/** As many as there are places. */
const slowCallers = 256;
const slowBytes = 250_000;
const bufferedBytes = 33_554_432;
const samples = 1_000;
/** Far more than is seen, and far less than the 15 s of a body that is waited for. */
const p99Growth = 10;
const slackMs = 100;

it("serves every order while 256 slow bodies come again and again", async () => {
  const served = await startServed({ more: `limits: { bufferedBytes: ${bufferedBytes} }` });
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  await p99Of(served, agent, samples);
  const before = await p99Of(served, agent, samples);

  const over = new AbortController();
  const ended = once(over.signal, "abort").then(() => "over");
  const refusals = new Set<string>();
  const begun = rawPost({ framing: [`Content-Length: ${slowBytes}`], body: "{" });
  const keepSending = async () => {
    while (!over.signal.aborted) {
      const connection = await RawConnection.open(served.port);
      const text = await Promise.race([connection.write(begun).ended(), ended]);
      refusals.add(/^HTTP\/1\.1 (\d+)[\s\S]*"outcome":"not_sent"/.exec(text)?.[1] ?? text);
      await connection.leave();
    }
  };
  const slow = Promise.all(Array.from({ length: slowCallers }, keepSending));
  const during = await p99Of(served, agent, samples);
  const more = await p99Of(served, agent, samples);
  print("p99 in ms", { before, during, more });
  over.abort();
  await slow;
  expect(Math.max(during, more)).toBeLessThan(p99Growth * before + slackMs);
  // Those that gave way were told so; nothing of theirs was sent.
  expect([...refusals].filter((status) => status !== "over")).toEqual(["503"]);
  expect(served.upstream.requests).toHaveLength(4 * samples);
});
