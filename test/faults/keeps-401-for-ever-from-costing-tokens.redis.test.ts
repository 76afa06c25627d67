/** Row 39 over processes: one site of a set is refused for ever, while another uses the set well. */
import { expect, it } from "vitest";
import { otherSite, type Replica, startFleet } from "../../testkit/fleet.ts";
import { startRedis } from "../../testkit/redis.ts";

const seconds = 35;

it("costs three curing-nothing token requests a minute at most, and holds no real revocation up", async () => {
  const { url } = await startRedis();
  const { replicas, simulator } = await startFleet({ redis: `{ url: ${url} }`, replicas: 8 });
  simulator.faults.add({ host: "api", site: otherSite, kind: "answer", status: 401, times: "until_cleared" });
  const bad: number[] = [];
  const good: number[] = [];
  const endMs = performance.now() + seconds * 1_000;
  const load = async (replica: Replica, statuses: number[], headers: Record<string, string>) => {
    while (performance.now() < endMs) {
      statuses.push((await replica.order(headers)).status);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const loads = replicas.flatMap((replica) => [
    load(replica, good, {}),
    load(replica, bad, { "countersign-site": otherSite }),
  ]);
  const untilMs = (share: number) => endMs - seconds * 1_000 * (1 - share) - performance.now();
  await new Promise((resolve) => setTimeout(resolve, untilMs(0.5)));
  const before = simulator.counts().tokenRequests;
  simulator.revokeAllTokens();
  await Promise.all(replicas.map(async (replica) => expect((await replica.order()).status).toBe(200)));
  const after = simulator.counts().tokenRequests;
  await Promise.all(loads);

  const inAll = simulator.counts().tokenRequests;
  process.stdout.write(`${good.length} good and ${bad.length} bad requests in ${seconds} s: ${inAll} token requests\n`);
  expect(new Set(good)).toEqual(new Set([200]));
  expect(new Set(bad)).toEqual(new Set([401]));
  // The revocation was cured at once, by one token.
  expect(after).toBe(before + 1);
  // The first token, one that cured, and at most three that cured nothing.
  expect(inAll).toBeLessThanOrEqual(1 + 1 + 3);
});
