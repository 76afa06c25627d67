import { expect } from "vitest";
import type { RedisAccess } from "../../../src/model/redis-access.ts";
import { call } from "../../../testkit/call.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { type Stage, stage } from "../../../testkit/stage.ts";

/** Revokes the present token, and expects the next request to be cured: the new token must come through Redis. */
export async function cure({ simulator, url }: Stage): Promise<void> {
  const { tokenRequests } = simulator.counts();
  simulator.revokeAllTokens();
  const { status, headers, text } = await call(url);
  expect({ status, attempts: headers["countersign-attempts"] }, text).toEqual({ status: 200, attempts: "2" });
  expect(simulator.counts().tokenRequests).toBe(tokenRequests + 1);
}

/** Another process finds the token in Redis, and asks for none. */
export async function expectShared(pod: Stage, port: number, access: Partial<RedisAccess> = {}): Promise<void> {
  const { tokenRequests } = pod.simulator.counts();
  const other = await stage("replica", port, access, pod);
  expect((await call(other.url)).status).toBe(200);
  expect(pod.simulator.counts().tokenRequests).toBe(tokenRequests);
  expect(other.recorder.of("token_adopted")).toMatchObject([{ issuedHere: false }]);
}

/** How many Redis commands failed, by node and kind, without zeros. */
export async function errorsOf({ adminUrl }: Stage): Promise<Readonly<Record<string, number>>> {
  const family = (await scrape(adminUrl)).families.get("countersign_redis_errors_total");
  const seen = (family?.samples ?? []).filter(({ value }) => value > 0);
  return Object.fromEntries(seen.map(({ labels, value }) => [`${labels["node"]} ${labels["kind"]}`, value]));
}
