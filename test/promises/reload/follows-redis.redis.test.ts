/**
 * User and password of Redis come from files that are renewed, as by a cloud's IAM or Vault; what metrics and status show of
 * Redis follows the configuration, since alerts use it; and a reload that is under way when the process ends leaves nothing open.
 */
import { expect, it } from "vitest";
import { aclRules, aclUser } from "../../../testkit/acl.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { accessTo, nodeAt } from "../../../testkit/redis-replica.ts";
import { stage } from "../../../testkit/stage.ts";
import { oauthSite, type Pod, sharingAt, startPod } from "./pod.ts";

const next: User = { username: "next", password: "canary-next-redis-password" };

it.each<[files: string, login: string, filesOf: (user: User) => Readonly<Record<string, string>>]>([
  [
    "two files",
    "username: { file: DIR/user }, password: { file: DIR/password }",
    ({ username, password }) => ({ password, user: `${username}\n` }),
  ],
  [
    "one file",
    "username: { file: DIR/login }, password: { file: DIR/login }",
    ({ username, password }) => ({ login: `${username}\n${password}\n` }),
  ],
])(
  "with a login of %s: the new connection is open before the old login ends, and no token is requested",
  async (_, login, filesOf) => {
    const redis = await startRedis();
    await redis.command("ACL", "SETUSER", next.username, "on", `>${next.password}`, ...aclRules);
    const pod = await startPod({ files: filesOf(aclUser) });
    const more = `tokens: { cache: redis }\nredis: { url: ${redis.url}, ${login}, encryptionKeys: [ { file: DIR/token-key } ] }`;
    await pod.apply({ more }, 1);
    const users = async () =>
      [...String(await redis.command("CLIENT", "LIST")).matchAll(/ user=(\w+)/g)].map(([, user]) => user);
    await expect.poll(users).toContain(aclUser.username);
    expect((await pod.order()).status).toBe(200);
    for (const [name, text] of Object.entries(filesOf(next))) pod.folder.write(name, text);
    await pod.nth("config_applied", 2);
    await expect.poll(users).toContain(next.username);
    await redis.command("ACL", "DELUSER", aclUser.username);
    expect((await pod.order()).status).toBe(200);
    expect((await pod.metrics()).value("countersign_redis_up", { node: "cache" })).toBe(1);
    expect(pod.lines("redis_down")).toEqual([]);
    const asked = { credential: `${oauthSite}/blue`, result: "issued" };
    expect((await pod.metrics()).sum("countersign_token_requests_total", asked)).toBe(1);
  },
);

/** The Redis servers on `/metrics` and `/status`. */
async function shown(pod: Pod) {
  const { families } = await pod.metrics();
  const { redis } = await pod.status();
  return {
    metric: families.get("countersign_redis_up")?.samples.map(({ value }) => value) ?? [],
    status: redis.map(({ isUp }: { isUp: boolean }) => isUp),
  };
}

const up = { metric: [1], status: [true] };
const down = { metric: [0], status: [false] };

it("a server that was down when the configuration dropped it is not shown any more", async () => {
  const [one, pod] = [await startRedis(), await startPod()];
  await pod.apply({ more: sharingAt(one, pod) }, 1);
  await expect.poll(() => shown(pod)).toEqual(up);
  await one.kill();
  await expect.poll(() => shown(pod), { timeout: 10_000 }).toEqual(down);
  await pod.apply({}, 2);
  expect(await shown(pod)).toEqual({ metric: [], status: [] });
});

it("the end of a Redis that is not used any more is not reported as that of the one in use", async () => {
  const [one, other, pod] = [await startRedis(), await startRedis(), await startPod()];
  await pod.apply({ more: sharingAt(one, pod) }, 1);
  await expect.poll(() => shown(pod)).toEqual(up);
  await pod.apply({ more: sharingAt(other, pod) }, 2);
  await expect.poll(() => one.command("CLIENT", "LIST")).toContain("user=countersign");
  await one.kill();
  await other.kill();
  await expect.poll(() => shown(pod), { timeout: 10_000 }).toEqual(down);
  await other.restart();
  await expect.poll(() => shown(pod), { timeout: 10_000 }).toEqual(up);
  expect(pod.lines("redis_down")).toHaveLength(1);
});

it("connections that a reload has prepared are closed if the process is told to end meanwhile", async () => {
  const redis = await startRedis();
  const { proxy, config, reload } = await stage();
  const timeouts = { ...config.timeouts, requestMs: 4_000 };
  const tokens = { cache: "redis", redis: accessTo(nodeAt(redis.port)) } as const;
  const clients = async () => String(await redis.command("CLIENT", "LIST")).match(/user=countersign/g)?.length ?? 0;
  const following = reload({ timeouts, tokens });
  await proxy.stop("SIGTERM");
  await following;
  await expect.poll(clients).toBe(0);
  await reload({ timeouts, tokens });
  expect(await clients()).toBe(0);
});

type User = Readonly<Record<"username" | "password", string>>;
