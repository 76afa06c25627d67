/** An authorization server behind TLS and a long wire gets one token request at the start, and one at each revocation. */
import { connect } from "node:net";
import { createServer } from "node:tls";
import { expect, it, onTestFinished } from "vitest";
import { authority, serverTls } from "../../../testkit/certificates.ts";
import { startFaultProxy } from "../../../testkit/fault-proxy.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { listen } from "../../../testkit/listen.ts";
import { playFleet, tokensInUse } from "./fleet-over-redis.ts";
import { burst, print } from "./load.ts";

const replicas = 8;
const callersEach = 3;
const revocations = 2;

it.each([40, 300, 800, 1_500])("a round trip of %i ms", async (roundTripMs) => {
  const loginPort = await freePort();
  const way = await startFaultProxy(await startTls(loginPort));
  for (const direction of [way.toTarget, way.toCaller]) direction.become({ latencyMs: roundTripMs / 2 });
  const authUrl = way.url.replace("http:", "https:");
  const files = { authority };
  const environment = "tls: { caFile: DIR/authority }";
  await playFleet({ replicas: 0, authUrl, files, environment, simulator: { loginPort } }, async (fleet) => {
    const { simulator } = fleet;
    await Promise.all(Array.from({ length: replicas }, () => fleet.add()));
    const { statuses } = await burst(fleet.replicas, callersEach);
    expect(statuses).toEqual({ 200: replicas * callersEach });
    expect(simulator.counts().tokenRequests).toBe(1);
    for (let revocation = 1; revocation <= revocations; revocation++) {
      simulator.revokeAllTokens();
      const cured = await burst(fleet.replicas, callersEach);
      print(`round trip ${roundTripMs} ms, revocation ${revocation}`, { tookMs: cured.tookMs });
      expect(cured.statuses).toEqual({ 200: replicas * callersEach });
      expect(simulator.counts().tokenRequests).toBe(1 + revocation);
    }
    expect(new Set(await tokensInUse(fleet)).size).toBe(1);
  });
});

/** TLS in front of a port. */
async function startTls(toPort: number): Promise<string> {
  const server = createServer(serverTls, (secured) => {
    const plain = connect(toPort, "127.0.0.1");
    for (const [from, to] of [
      [secured, plain],
      [plain, secured],
    ] as const) {
      from.on("error", () => to.destroy()).pipe(to);
    }
  });
  onTestFinished(() => void server.close());
  return `https://127.0.0.1:${await listen(server)}`;
}
