/** Each failure is counted by its kind; the texts are those of Redis 6 and 7 and of ioredis. */

import { expect, it } from "vitest";
import { isFatal, kindOf, RedisFailure } from "../../src/adapters/redis/failure.ts";
import { describeRedisFailure } from "../../src/model/redis-access.ts";

const reply = (message: string) => Object.assign(new Error(message), { name: "ReplyError" });

it.each([
  ["READONLY You can't write against a read only replica.", "readonly"],
  [
    "ERR Error running script (call to f_1): @user_script:7: -READONLY You can't write against a read only replica.",
    "readonly",
  ],
  ["OOM command not allowed when used memory > 'maxmemory'. script: d4, on @user_script:1.", "oom"],
  ["LOADING Redis is loading the dataset in memory", "loading"],
  ["NOAUTH Authentication required.", "noauth"],
  ["WRONGPASS invalid username-password pair or user is disabled.", "noauth"],
  ["NOPERM this user has no permissions to run the 'evalsha' command", "noperm"],
  ["ERR The user executing the script can't run this command or subcommand script: bd, on @user_script:1.", "noperm"],
  ["WRONGTYPE Operation against a key holding the wrong kind of value", "wrongtype"],
  ["NOSCRIPT No matching script. Please use EVAL.", "noscript"],
  ["CLUSTERDOWN The cluster is down", "clusterdown"],
  ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "masterdown"],
  ["TRYAGAIN Multiple keys request during rehashing of slot", "tryagain"],
  ["BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", "busy"],
  ["NOREPLICAS Not enough good replicas to write.", "noreplicas"],
  ["MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.", "misconf"],
  ["ERR This Redis command is not allowed from script script: 53aa7d, on @user_script:2.", "no_clock"],
  ["ERR Unknown Redis command called from script script: 53aa7d, on @user_script:2.", "no_clock"],
  ["ERR Unknown command called from Lua script", "no_clock"],
  ["ERR unknown command 'TIME', with args beginning with: ", "no_clock"],
  ["ERR unknown command 'EVAL', with args beginning with: ", "other"],
  ["ERR something unknown", "other"],
])("%s", (message, kind) => {
  expect(kindOf(reply(message))).toBe(kind);
});

it.each([
  [new Error("Command timed out"), "timeout"],
  [new Error("Connection is closed."), "connection"],
  [new Error("Stream isn't writeable and enableOfflineQueue options is false"), "connection"],
  [Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" }), "connection"],
  [Object.assign(new Error("self-signed certificate"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" }), "tls"],
  [Object.assign(new Error("wrong name"), { code: "ERR_TLS_CERT_ALTNAME_INVALID" }), "tls"],
  [new Error("Reached the max retries per request limit (which is 0). Refer to …"), "connection"],
  [Object.assign(new Error('Protocol error, got "H" as reply type byte'), { name: "ParserError" }), "connection"],
  [new Error("All sentinels are unreachable and retry is disabled."), "connection"],
  [new Error("Too many Cluster redirections. Last error: ReplyError: MOVED 3999 127.0.0.1:6381"), "moved"],
  [new Error("Too many Cluster redirections. Last error: ReplyError: ASK 3999 127.0.0.1:6381"), "ask"],
  [new Error("Too many Cluster redirections. Last error: ReplyError: TRYAGAIN Multiple keys request …"), "tryagain"],
  [new Error("Too many Cluster redirections. Last error: ReplyError: CLUSTERDOWN The cluster is down"), "clusterdown"],
  [new RedisFailure("oom"), "oom"],
  [new TypeError("a defect"), "other"],
  ["not an error", "other"],
])("%s is %s", (error, kind) => {
  expect(kindOf(error)).toBe(kind);
});

it("a failure is fatal only if the next command would fail as well", () => {
  const fatal = ["timeout", "connection", "loading", "noauth"] as const;
  const others = ["readonly", "oom", "wrongtype", "noscript", "noperm", "tryagain"] as const;
  expect([...fatal, ...others].filter(isFatal)).toEqual(fatal);
});

it("a failure shows nothing of the command, which contains the token", () => {
  const failure = new RedisFailure(kindOf(Object.assign(reply("OOM …"), { command: { args: ["canary-token"] } })));
  expect(JSON.stringify({ ...failure, message: failure.message, stack: failure.stack })).not.toContain("canary");
});

it.each([
  [
    "NOAUTH",
    "redis://cache:6379: it wants a login (NOAUTH); add redis.password, and redis.username unless it is Redis's default user",
  ],
  [
    "WRONGPASS",
    "redis://cache:6379: the login is refused (WRONGPASS); correct redis.password and redis.username, or see that Redis has this user switched on",
  ],
])("log and page say what to do about a login: %s", (cause, says) => {
  expect(describeRedisFailure({ address: "redis://cache:6379", failure: "noauth", cause })).toBe(says);
});
