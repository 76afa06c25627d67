/** A process that ends waits for no connection that is still being made. */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, it } from "vitest";
import { createConnect } from "../../../src/adapters/http-client/connect.ts";
import { Pool } from "../../../src/adapters/http-client/connection-pool.ts";
import { createPostSpans } from "../../../src/adapters/http-client/read-whole.ts";
import { ServiceAgent } from "../../../src/adapters/http-proxy/agent.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { addressOf } from "../../../testkit/address.ts";
import { trusting as tls } from "../../../testkit/certificates.ts";
import { listen } from "../../../testkit/listen.ts";

const connectTimeoutMs = 60_000;

/** Takes connections and never says a word, so that TLS and a tunnel are waited for. */
async function startSilent() {
  const server = createServer();
  const port = await listen(server);
  const accepted = once(server, "connection").then(([socket]: Socket[]) => {
    if (socket === undefined) throw new Error("a connection without a socket");
    return {
      ended: once(
        socket.resume().on("error", () => {}),
        "close",
      ),
    };
  });
  return { address: addressOf(`https://127.0.0.1:${port}`), accepted };
}

it.each(["directly", "through a proxy"])(
  "the pool to a service, an authorization server or a collector, %s",
  async (way) => {
    const { address, accepted } = await startSilent();
    const proxy = { proxy: { ...address, scheme: "http" as const }, tls, credentials: undefined };
    const egress = way === "directly" ? undefined : proxy;
    const pool = new Pool({ address, tls, connectTimeoutMs, connections: 1, egress }, systemClock);
    const sent = createPostSpans(pool, "/", [], systemClock)("", connectTimeoutMs);
    const { ended } = await accepted;
    await pool.destroy();
    expect((await sent).kind).toBe("failed");
    await ended;
  },
);

it("the connections of pass-through routes", async () => {
  const { address, accepted } = await startSilent();
  const connect = createConnect({ address, tls, connectTimeoutMs }, systemClock);
  const agent = new ServiceAgent({ connect, requests: 1, requestsPerConnection: undefined });
  agent.createConnection({});
  const { ended } = await accepted;
  agent.destroy();
  await ended;
});
