/** Row 54: user and password of Redis come from files that are renewed, as those that a cloud's IAM or Vault issues. */
import { expect, it } from "vitest";
import { aclRules, aclUser } from "../../../testkit/acl.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { oauthSite, startPod } from "./pod.ts";

type User = Readonly<Record<"username" | "password", string>>;
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
  "of %s: the new connection is there before the old login ends, and no token is asked for",
  async (_, login, filesOf) => {
    const redis = await startRedis();
    await redis.command("ACL", "SETUSER", next.username, "on", `>${next.password}`, ...aclRules);
    const pod = await startPod({
      files: { ...filesOf(aclUser), "token-key": "0123456789abcdef".repeat(4) },
    });
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
