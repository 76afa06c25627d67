import type { RedisTrouble } from "../../adapters/redis/failure.ts";
import { type Finding, fail } from "./check.ts";
import { explainFailure, isExplained } from "./explain-failure.ts";
import type { RedisServer } from "./redis-server.ts";

/** How long `client.ts` lets connecting and the greeting take, each. */
const connectMs = 500;

/** Why nobody could be asked anything. */
export function explainRedisRefusal({ kind, code }: RedisTrouble, server: RedisServer, user: string): Finding {
  const { place, setting, isTls } = server;
  if (code === "ETIMEDOUT") {
    const also = isTls ? ", and see that it speaks TLS there" : "";
    const fix = `let this pod reach ${place} (NetworkPolicy or firewall: egress to that port, and to DNS)${also}`;
    return fail(`no ${isTls ? "TLS " : ""}connection within ${connectMs} ms (${code})`, fix);
  }
  if (code !== undefined && isExplained(code)) {
    const host = place.replace(/^rediss?:\/\//, "");
    const to = { place, host, setting, tlsSetting: "redis.tls", connectMs };
    return explainFailure(code, to, undefined, 0);
  }
  if (code === "WRONGPASS") {
    return fail(
      `the login as ${user} is refused (WRONGPASS)`,
      "correct redis.username and redis.password, or see that the user is on",
    );
  }
  switch (kind) {
    case "noauth":
      return fail("it wants a login (NOAUTH)", "add redis.username and redis.password");
    case "noperm":
      return fail(
        `the user ${user} may not even ask (NOPERM)`,
        fixPermissions(user, server.kind === "cluster" ? ["cluster|slots"] : []),
      );
    case "timeout":
      return fail(
        "connected, but it does not answer",
        "see what it is at: a script or a command that takes long, swapping, a stopped process",
      );
    case "loading":
      return fail(
        "it is still reading its data (LOADING)",
        "wait, and run this again; Countersign needs no persistence there",
      );
    case "tls":
      return fail(
        `no TLS connection (${code})`,
        "see redis.tls: caFile for a private authority, certFile and keyFile where it wants a certificate",
      );
    default:
      return fail(
        unknown[server.kind],
        `see what is at ${place}, and that ${setting} is right${isTls ? "" : "; where it speaks TLS, write rediss:// or add redis.tls"}`,
      );
  }
}

const unknown: Readonly<Record<RedisServer["kind"], string>> = {
  standalone: "whatever answers there does not speak Redis's language",
  sentinel: "none of the Sentinels says where the master is",
  cluster: "none of the nodes tells how the Cluster is made up",
};

/** The whole line for a new user is in docs/redis.md. */
export function fixPermissions(user: string, commands: readonly string[], keys = ""): string {
  const rules = [...(keys === "" ? [] : [keys]), ...commands.map((name) => `+${name}`)];
  const line = ["ACL SETUSER", user, ...rules].join(" ");
  return `${line}   (and keep it: ACL SAVE, or the file of users; docs/redis.md has the whole line)`;
}
