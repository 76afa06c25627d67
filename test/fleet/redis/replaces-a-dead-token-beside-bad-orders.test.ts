/** Beside orders that always get 401 a revoked token is still replaced, with few useless tokens. */
import { createServer, request } from "node:http";
import { setTimeout as pass } from "node:timers/promises";
import { expect, it } from "vitest";
import { type Fleet, otherSite, type Replica } from "../../../testkit/fleet.ts";
import { keepAlive } from "../../../testkit/keep-alive.ts";
import { listen } from "../../../testkit/listen.ts";
import { playFleet } from "./fleet-over-redis.ts";
import { print, startLoad } from "./load.ts";

const replicas = 4;
const perSecond = 100;
const badShare = 100;
/** Long enough for the bad orders to use up their allowed useless tokens. */
const beforeMs = 8_000;
/** After a useless token for a bad order, a revoked token may stay unreplaced for so long. */
const windowMs = 10_000;
const afterMs = 15_000;
/** The User-Agent of orders that the service refuses. */
const badAgent = "bad-order/1";

it("one bad order in a hundred: a token is replaced within ten seconds, twice in a row, and useless tokens stay few", async () => {
  await playFleet({ replicas, front: standBefore }, async (fleet) => {
    const { simulator } = fleet;
    const orders = startOrders(fleet);
    await pass(beforeMs);
    for (const revocation of [1, 2]) {
      const { tokensIssued } = simulator.counts();
      const revokedMs = performance.now();
      simulator.revokeAllTokens();
      await pass(afterMs);
      const lost = orders.answers.filter(({ isBad, status, sentMs }) => !isBad && status === 401 && sentMs > revokedMs);
      const healedMs = Math.max(0, ...lost.map(({ sentMs }) => sentMs - revokedMs));
      print(`revocation ${revocation}`, {
        lost: lost.length,
        healedMs,
        tokens: simulator.counts().tokensIssued - tokensIssued,
      });
      expect(healedMs).toBeLessThan(windowMs + 3_000);
      expect(lost.length).toBeLessThan(((windowMs + 1_000) * perSecond) / 1_000);
    }
    // From now on every order is answered 401.
    simulator.faults.add({ host: "api", kind: "answer", status: 401, times: "until_cleared" });
    const { tokenRequests } = simulator.counts();
    await pass(30_000);
    const useless = simulator.counts().tokenRequests - tokenRequests;
    print("with 401 for ever", { useless });
    expect(useless).toBeLessThanOrEqual(3);
    const { sent } = await orders.stop();
    expect(orders.answers).toHaveLength(sent);
    const others = orders.answers.filter(({ isBad, status }) => !isBad && status !== 200 && status !== 401);
    expect(others.map(({ status }) => status)).toEqual([]);
  });
}, 300_000);

it("all orders of one site are bad: three useless tokens in 35 s at most, and a real revocation is cured at once for another site", async () => {
  const seconds = 35;
  await playFleet({ replicas: 8 }, async ({ replicas: all, simulator }) => {
    simulator.faults.add({ host: "api", site: otherSite, kind: "answer", status: 401, times: "until_cleared" });
    const bad: number[] = [];
    const good: number[] = [];
    const endMs = performance.now() + seconds * 1_000;
    const load = async (replica: Replica, statuses: number[], headers: Record<string, string>) => {
      while (performance.now() < endMs) {
        statuses.push((await replica.order(headers)).status);
        await pass(50);
      }
    };
    const loads = all.flatMap((replica) => [
      load(replica, good, {}),
      load(replica, bad, { "countersign-site": otherSite }),
    ]);
    await pass((seconds * 1_000) / 2);
    const before = simulator.counts().tokenRequests;
    simulator.revokeAllTokens();
    await Promise.all(all.map(async (replica) => expect((await replica.order()).status).toBe(200)));
    const after = simulator.counts().tokenRequests;
    await Promise.all(loads);

    const inAll = simulator.counts().tokenRequests;
    process.stdout.write(
      `${good.length} good and ${bad.length} bad requests in ${seconds} s: ${inAll} token requests\n`,
    );
    expect(new Set(good)).toEqual(new Set([200]));
    expect(new Set(bad)).toEqual(new Set([401]));
    // The revocation was cured at once, by one token.
    expect(after).toBe(before + 1);
    // The first token, one that cured a 401, and at most three that cured nothing.
    expect(inAll).toBeLessThanOrEqual(1 + 1 + 3);
  });
}, 300_000);

/** Stands before the simulator, and answers bad orders with 401 whatever their token. */
async function standBefore(apiUrl: string): Promise<string> {
  const agent = keepAlive();
  const server = createServer((order, answer) => {
    if (order.headers["user-agent"] === badAgent) {
      order.resume();
      answer.writeHead(401, { "content-length": 0 }).end();
      return;
    }
    const { method, headers } = order;
    const forwarded = request(new URL(order.url ?? "/", apiUrl), { method, headers, agent }, (given) => {
      answer.writeHead(given.statusCode ?? 502, given.headers);
      given.pipe(answer);
    });
    forwarded.on("error", () => answer.destroy());
    order.pipe(forwarded);
  });
  // Longer than any pause between two orders: otherwise an order could meet a closing connection.
  server.keepAliveTimeout = 60_000;
  return `http://127.0.0.1:${await listen(server)}${new URL(apiUrl).pathname}`;
}

/** Sends orders in turn through all replicas; one in a hundred is bad. */
function startOrders({ replicas: all }: Fleet) {
  const answers: { isBad: boolean; status: number; sentMs: number }[] = [];
  let sent = 0;
  const orders = all.map((replica) => ({
    async order() {
      sent += 1;
      const isBad = sent % badShare === 0;
      const sentMs = performance.now();
      const answer = await replica.order(isBad ? { "user-agent": badAgent } : {});
      answers.push({ isBad, status: answer.status, sentMs });
      return answer;
    },
  }));
  return { answers, stop: startLoad(orders, perSecond).stop };
}
