import { createServer } from "node:net";
import { expect, it } from "vitest";
import { freePort } from "../../../testkit/free-port.ts";
import { listen } from "../../../testkit/listen.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { diagnose } from "./doctor-run.ts";
import { environmentOf, openFolder, startService } from "./doctor-setup.ts";

// What the doctor says of listeners for callbacks: keys, and the application.

const keys = "keys: [ { identifier: K2000000001, secret: { file: DIR/k1 } } ]";

async function diagnoseCallbacks(applicationPort: number, redis?: string) {
  const { write } = await openFolder();
  const service = await startService();
  const sandbox = environmentOf(service).replace(/sites: \{/, `sites: { S1000000003: { ${keys} },`);
  const url = `http://127.0.0.1:${applicationPort}/callbacks`;
  const listener = `{ bind: "127.0.0.1:${await freePort()}", environment: sandbox, application: { url: "${url}" } }`;
  const file = write({ environments: { sandbox }, more: `callbacks: [ ${listener} ]`, ...(redis && { redis }) });
  return diagnose(file, { withToken: false });
}

it("says that the application takes connections, and which sites have no key", async () => {
  const chunks: Buffer[] = [];
  const port = await listen(createServer((socket) => socket.on("data", (chunk) => void chunks.push(chunk))));
  const { hasFailed, of } = await diagnoseCallbacks(port);
  expect(hasFailed).toBe(false);
  expect(of("config").filter((line) => /^warn .*without keys.*: S1 \|/.test(line))).toHaveLength(1);
  expect(of("callback")).toEqual([`ok application 127.0.0.1:${port}: takes connections`]);
  expect(chunks).toEqual([]);
});

it("fails where the application refuses connections", async () => {
  const port = await freePort();
  const { hasFailed, of } = await diagnoseCallbacks(port);
  expect(hasFailed).toBe(true);
  expect(of("callback")[0]).toMatch(/^fail application \S+: .*\(ECONNREFUSED\) \| .*callbacks\[0\]\.application\.url/);
});

it("warns of a Redis that forgets what was delivered", async () => {
  const { port } = await startRedis({ args: ["--maxmemory-policy", "volatile-lru"] });
  const { of } = await diagnoseCallbacks(await freePort(), `url: "redis://127.0.0.1:${port}"`);
  expect(of("redis")).toContainEqual(
    expect.stringMatching(/^warn callbacks: maxmemory-policy volatile-lru: .* noeviction/),
  );
});
