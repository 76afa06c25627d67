/** Proves row 3: two Hosts or none 400, a foreign Host 403 (a web page that rebinds its name), loopback names always. */
import { expect, it } from "vitest";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { stageProxy } from "../../../testkit/stage.ts";

it.each([
  ["no Host", []],
  ["two", ["Host: 127.0.0.1", "Host: evil.example"]],
  ["the same one twice", ["Host: 127.0.0.1", "Host: 127.0.0.1"]],
  ["a second one in odd casing", ["Host: 127.0.0.1", "hOsT: evil.example"]],
])("refuses %s as malformed", async (_, host) => {
  const { port, simulator } = await stageProxy();
  expectFailure(await ask(port, { host }), { status: 400, code: "malformed_request", detail: /Host header/ });
  expect(simulator.counts().apiRequests).toBe(0);
});

it.each([
  "evil.example",
  "127.0.0.1.evil.example",
  "localhost.evil.example",
  "localhost.",
  "127.0.0.1:x",
  "127.0.0.1:7411:7411",
  "127.0.0.1, evil.example",
  "user@127.0.0.1",
  "evil.example\\127.0.0.1",
  "127.0.0.2",
  "[::2]",
  "",
])("refuses the foreign Host %j", async (host) => {
  const { port, simulator } = await stageProxy();
  expectFailure(await ask(port, { host: [`Host: ${host}`] }), {
    status: 403,
    code: "target_not_allowed",
    detail: /not one of this listener's; add it to the listener's hosts/,
  });
  expect(simulator.counts().apiRequests).toBe(0);
});

it.each(["localhost", "LocalHost:9", "127.0.0.1", "127.0.0.1:65535", "[::1]", "[::1]:7411"])(
  "always answers to the loopback name %s",
  async (host) => {
    const { port } = await stageProxy();
    expect((await ask(port, { host: [`Host: ${host}`] })).status).toBe(200);
  },
);

it("answers to the names of its configuration and to the service's own, and tells whom it means upstream", async () => {
  const bind = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
  const listeners = [{ bind, environment: "sandbox", hosts: ["countersign.internal"] }];
  const { port, simulator } = await stageProxy({ config: { listeners } });
  const upstream = new URL(simulator.apiUrl).host;
  for (const host of ["countersign.internal", "COUNTERSIGN.internal:7411", upstream]) {
    expect((await ask(port, { host: [`Host: ${host}`] })).status).toBe(200);
  }
  for (const { rawHeaders } of await simulator.seen.whenApiRequests(3)) {
    expect(rawHeaders.slice(0, 2)).toEqual(["host", upstream]);
  }
});
