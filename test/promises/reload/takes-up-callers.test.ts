/** Rows 80 and 81: a caller's new token and changed rights hold within 10 s, on open connections too, and no token comes out. */
import { expect, it } from "vitest";
import { call, get, order } from "../../../testkit/call.ts";
import { keepAlive } from "../../../testkit/keep-alive.ts";
import { hmacSite, startPod } from "./pod.ts";

const [first, second, third] = [1, 2, 3].map((n) => `canary-token-of-the-shop-${n}`);
const listener = (rights = "", tokens = "[{ file: DIR/shop }, { file: DIR/shop-next }]") =>
  `{ bind: "127.0.0.1:PORT", environment: sandbox, callers: { shop: { token: ${tokens}${rights} } } }`;

it("while it serves", async () => {
  const files = { shop: `${first}\n`, "shop-next": `${second}\n` };
  const pod = await startPod({ settings: { listeners: [listener()] }, files });
  const agent = keepAlive(1);
  const send = async (token = "", site = hmacSite) => {
    const headers = { "Proxy-Authorization": `Bearer ${token}`, "Countersign-Site": site };
    const { status, headers: answered } = await call(pod.url, order, { agent, headers });
    return answered["countersign-error"] ?? status;
  };
  expect([await send(first), await send(second), await send(third)]).toEqual([200, 200, "caller_not_authenticated"]);
  expect(await send(first)).toBe(200);
  const [socket] = Object.values(agent.freeSockets).flat();

  await pod.told("config_applied", 1, () => pod.folder.write("shop", `${third}\n`));
  expect(await send(third)).toBe(200);
  expect(Object.values(agent.freeSockets).flat()).toEqual([socket]);
  expect(await send(first)).toBe("caller_not_authenticated");

  const narrow = [listener(`, sites: [S1000000001]`)];
  const write = (listeners: readonly string[]) => pod.config.update({ "countersign.yaml": pod.yaml({ listeners }) });
  expect(await send(second)).toBe(200);
  await pod.told("config_applied", 2, () => write(narrow));
  expect([await send(second), await send(second, "S1000000001")]).toEqual(["caller_not_allowed", 200]);

  await pod.told("config_applied", 3, () => write([listener("", "{ file: DIR/shop }")]));
  expect([await send(second), await send(third)]).toEqual(["caller_not_authenticated", 200]);

  const seen = [
    pod.program.stdout(),
    pod.program.stderr(),
    (await pod.metrics()).text,
    (await get(pod.statusUrl, "/status")).text,
    (await get(pod.statusUrl, "/")).text,
  ].join("\n");
  expect(seen).toContain('"caller":"shop"');
  expect(seen).toContain('countersign_caller_requests_total{listener="');
  expect(seen).not.toContain("canary");
});
