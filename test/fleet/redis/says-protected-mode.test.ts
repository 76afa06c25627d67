/** The log and the doctor name protected mode as the reason; the Redis client prints nothing itself. */
import { networkInterfaces } from "node:os";
import { expect, it, vi } from "vitest";
import { aclUser } from "../../../testkit/acl.ts";
import { startFaultProxy } from "../../../testkit/fault-proxy.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { watched } from "../../../testkit/redis-fleet.ts";
import { startServe } from "../../../testkit/run-program.ts";
import { configureDoctor, diagnose } from "../../promises/cli/doctor-runs.ts";

/** An address of this machine that Redis takes for another host's. */
const own = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === "IPv4")?.address;

const configure = async (redis: string) => (await configureDoctor({ redis })).file;

it.skipIf(own === undefined)("the log and the doctor say that Redis is in protected mode, and what to do", async () => {
  const redis = await startRedis({ args: ["--bind", `${own} 127.0.0.1`, "--protected-mode", "yes"] });
  const file = await configure(`url: "redis://${own}:${redis.port}"`);
  const warn = vi.spyOn(console, "warn");
  const { hasFailed, of } = await diagnose(file);
  expect(hasFailed).toBe(true);
  expect(of("redis")[0]).toMatch(/^fail cache \S+: it is in protected mode, .* \(DENIED\) \| give its default/);
  expect(warn).not.toHaveBeenCalled();

  const { stderr, of: down } = await logOf(file, "redis_down");
  expect(stderr).toBe("");
  expect(down).toMatchObject([{ level: "warn", failure: "protected_mode" }]);
});

it.skipIf(own === undefined)("the doctor says so of a Cluster too", async () => {
  const redis = await startRedis({
    args: ["--bind", `${own} 127.0.0.1`, "--protected-mode", "yes", "--cluster-enabled", "yes"],
  });
  // On one machine the end of the connection may overtake the message of Redis.
  const wire = await startFaultProxy(`redis://${own}:${redis.port}`);
  const file = await configure(`cluster: { nodes: [ "127.0.0.1:${wire.port}" ] }`);
  const warn = vi.spyOn(console, "warn");
  expect((await diagnose(file)).of("redis")[0]).toMatch(/^fail cache .*: it is in protected mode/);
  expect(warn).not.toHaveBeenCalled();
});

it("what the Redis client prints becomes a line of JSON, without its text", async () => {
  const redis = await startRedis();
  const sentinel = await startRedis({ sentinel: [`sentinel monitor ${watched} 127.0.0.1 ${redis.port} 1`] });
  await redis.command("ACL", "SETUSER", aclUser.username, "-info");
  const file = await configure(`sentinel: { name: ${watched}, nodes: [ "127.0.0.1:${sentinel.port}" ] }`);
  const { stderr, of: warned } = await logOf(file, "process_warned");
  expect(stderr).toBe("");
  expect(warned).toMatchObject([{ level: "warn", warning: expect.stringMatching(/^ConsoleWarning at /) }]);
});

/** The proxy's log and standard error, read once this event is in the log. */
async function logOf(file: string, event: string) {
  const program = await startServe(file);
  await program.nth(event, 1);
  expect(await program.stop()).toBe(0);
  return { stderr: program.stderr(), of: program.events(event) };
}
