import { type Bind, describeBind } from "../../model/bind.ts";
import { askAdmin } from "../ask-admin.ts";
import { type Finding, fail, ok, printable, skip, warn } from "./check.ts";
import { patienceMs, type Run } from "./run.ts";

const answerMs = 3_000;

/** The `serve` that runs beside: whether it is ready, and whether this configuration is the one in force there. */
export async function examineServe(visit: Run): Promise<Finding> {
  const { admin, hash } = visit.config;
  if (admin.kind === "tcp" && admin.port === 0)
    return skip("the admin port is any that is free, so nobody can ask there");
  const ask = (path: string) => askAdmin(admin, path, patienceMs(visit, answerMs), visit.clock);
  const ready = await ask("/readyz");
  if (typeof ready === "string") return explainSilence(ready, admin);
  const metrics = await ask("/metrics");
  const inForce =
    typeof metrics === "string"
      ? undefined
      : /^countersign_config_info\{hash="([0-9a-f]{1,64})"\} 1$/m.exec(metrics.text)?.[1];
  if (inForce === undefined) {
    return fail("something listens there that is not Countersign", "give admin.bind another port, or end what has it");
  }
  if (inForce !== hash) {
    const fix =
      "its log says why (config_refused); what changed a moment ago is taken up within 10 s; " +
      "a subPath mount and the environment only by a restart";
    return warn(`runs with another configuration in force (${inForce}) than this file is (${hash})`, fix);
  }
  const reason = printable(ready.text);
  if (ready.status === 200) return ok(`runs with this configuration (${hash}), and is ready`);
  return warn(
    `runs with this configuration (${hash}), and is not ready: ${reason}`,
    "see the lines above: a token is what it waits for",
  );
}

function explainSilence(code: string, admin: Bind): Finding {
  if (code === "ECONNREFUSED" || code === "ENOENT") return skip("nobody listens there, so serve does not run here");
  return fail(
    `no answer (${code})`,
    `see what listens at ${describeBind(admin)}: a serve that hangs, or something else`,
  );
}
