import { type Bind, describeBind } from "../../model/listener.ts";
import { askAdmin } from "../ask.ts";
import { printable } from "../terminal.ts";
import { type CheckResult, fail, ok, type Run, skip, warn, withinRun } from "./check.ts";

const answerMs = 3_000;

/** The `serve` beside: whether it is ready, and whether it runs with this configuration. */
export async function checkServe(run: Run): Promise<CheckResult> {
  const { admin, hash } = run.config;
  if (admin.kind === "tcp" && admin.port === 0) return skip("the admin port is any free one, so it cannot be asked");
  const ask = async (path: string) => {
    return (await withinRun(run, askAdmin(admin, path, answerMs, run.clock), answerMs)) ?? "ETIMEDOUT";
  };
  const ready = await ask("/readyz");
  if (typeof ready === "string") return explainSilence(ready, admin);
  const metrics = await ask("/metrics");
  const text = typeof metrics === "string" ? "" : metrics.text;
  const active = /^countersign_config_info\{hash="([0-9a-f]{1,64})"\} 1$/m.exec(text)?.[1];
  if (active === undefined) {
    return fail("something listens there that is not Countersign", "give admin.bind another port, or end what has it");
  }
  if (active !== hash) {
    const fix =
      "its log says why (config_refused); what changed a moment ago is taken up within 10 s; " +
      "a subPath mount and the environment only by a restart";
    return warn(`runs with another active configuration (${active}) than this file is (${hash})`, fix);
  }
  if (ready.status === 200) return ok(`runs with this configuration (${hash}), and is ready`);
  const detail = `runs with this configuration (${hash}), and is not ready: ${printable(ready.text)}`;
  return warn(detail, "see the lines above: a token is what it waits for");
}

function explainSilence(code: string, admin: Bind): CheckResult {
  if (code === "ECONNREFUSED" || code === "ENOENT") return skip("nothing listens there, so serve does not run here");
  const fix = `see what listens at ${describeBind(admin)}: a serve that hangs, or something else`;
  return fail(`no answer (${code})`, fix);
}
