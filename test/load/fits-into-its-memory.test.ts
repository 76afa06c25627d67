/** With ten times its load, of the worst bodies, the process fits into the chart's memory, and refuses the excess. */
import { createServer } from "node:http";
import { expect, it } from "vitest";
import { defaultBudget } from "../../src/app/process-limits.ts";
import { scrape } from "../../testkit/exposition.ts";
import { freePort } from "../../testkit/free-port.ts";
import { imageOptions } from "../../testkit/image-options.ts";
import { listen } from "../../testkit/listen.ts";
import { residentBytes } from "../../testkit/process-use.ts";
import { startServe } from "../../testkit/run-program.ts";
import { drawSeed, seededRandom } from "../../testkit/seeded-random.ts";
import { print } from "../fleet/redis/load.ts";

import { limitMemory, writeServed } from "./served.ts";
import { load } from "./steady-load.ts";

const memoryBytes = 256 * 1_048_576;
/** How long the service takes, so how long bodies are held. */
const answerMs = 4_000;
const lastsMs = 8_000;
/** Orders per second that fit into the memory. */
const perSecond = 8;

/** `limits.bodyBytes` by default. A longer body would be refused for its length, whatever the memory. */
const bodyBytes = 262_144;

/** Small orders; one long value; many parameters; escapes; parameters of middling length; numbers that grow. */
const mix: readonly Buffer[] = [
  ...times(12, JSON.stringify({ order_amount: "10.00", order_currency: "EUR", site_customer_identifier: "c1" })),
  ...times(3, JSON.stringify({ one: "x".repeat(250_000) })),
  ...times(2, fill(250_000, '"N":1,')),
  ...times(2, `{"escaped":"${"\\u0041".repeat(41_000)}"}`),
  ...times(2, fill(64_000, '"name_N":"value-N",')),
  ...times(1, fill(bodyBytes, '"N":1e60,')),
];

it.skipIf(process.platform !== "linux")(
  "runs in 256 MiB under ten times its load, and serves nine tenths of its load",
  async () => {
    expect(mix.filter(({ length }) => length > bodyBytes)).toEqual([]);
    const random = seededRandom(drawSeed("fits into its memory"));
    const service = await startCountingService();
    const port = await freePort();
    const limit = limitMemory(memoryBytes);
    // Without a cgroup the process cannot know its limit of memory.
    const more = limit === undefined ? `limits: { bufferedBytes: ${defaultBudget(memoryBytes)} }` : "";
    const file = writeServed(service.url, `127.0.0.1:${port}`, more);
    const program = await startServe(file, { options: imageOptions(memoryBytes), wrap: limit?.wrap });
    const metrics = () => scrape(program.adminUrl);
    expect((await metrics()).value("countersign_buffered_bytes_limit")).toBe(defaultBudget(memoryBytes));

    const bodyOf = () => mix[Math.floor(random() * mix.length)];
    const url = `http://127.0.0.1:${port}`;
    const single = await load(url, { perSecond, lastsMs, bodyOf });
    const tenfold = await load(url, { perSecond: 10 * perSecond, lastsMs, bodyOf });
    const highestBytes = residentBytes(program, "VmHWM");
    print("at its load", { served: single.served, refused: single.refusedMs.length });
    print("at ten times its load", {
      served: tenfold.served,
      refused: tenfold.refusedMs.length,
      MiB: highestBytes / 1_048_576,
    });
    expect(single.strange).toEqual([]);
    expect(tenfold.strange).toEqual([]);
    expect(tenfold.refusedMs.length).toBeGreaterThan(0);
    expect(tenfold.served).toBeGreaterThanOrEqual(0.9 * single.served);
    expect(service.requests()).toBe(single.served + tenfold.served);
    expect(highestBytes).toBeLessThan(memoryBytes);
    expect(limit?.kills() ?? 0).toBe(0);
    expect((await metrics()).value("countersign_buffered_bytes")).toBe(0);
  },
  300_000,
);

function times(count: number, body: string): Buffer[] {
  return Array.from({ length: count }, () => Buffer.from(body));
}

/** An object of so many bytes; `N` in the member stands for its number. */
function fill(bytes: number, member: string): string {
  let members = "";
  for (let n = 0; members.length < bytes - 100; n++) members += member.replaceAll("N", n.toString(36));
  return `{${members}"last":true}`;
}

/** A service that counts orders without keeping them. */
async function startCountingService() {
  let requests = 0;
  const server = createServer((request, response) => {
    request.resume().once("end", () => {
      requests += 1;
      setTimeout(() => response.end('{"order_id":"order_1"}'), answerMs);
    });
  });
  return { url: `http://127.0.0.1:${await listen(server)}`, requests: () => requests };
}
