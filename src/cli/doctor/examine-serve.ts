import { type ClientRequestArgs, request } from "node:http";
import type { Bind } from "../../bind.ts";
import { describeBind } from "../../bind.ts";
import { codeOf, type Finding, fail, ok, printable, skip, warn } from "./check.ts";
import { patiently, type Visit } from "./visit.ts";

const answerMs = 3_000;
/** Far more than any `/metrics` has. */
const longestAnswerBytes = 8 * 1_048_576;

interface Page {
  readonly status: number;
  readonly text: string;
}

/** The `serve` that runs beside: whether it is ready, and whether this configuration is the one in force there. */
export async function examineServe(visit: Visit): Promise<Finding> {
  const { admin, hash } = visit.config;
  if (admin.kind === "tcp" && admin.port === 0)
    return skip("the admin port is any that is free, so nobody can ask there");
  const ready = await ask(admin, "/readyz", visit);
  if (typeof ready === "string") return explainSilence(ready, admin);
  const metrics = await ask(admin, "/metrics", visit);
  const inForce =
    typeof metrics === "string"
      ? undefined
      : /^countersign_config_info\{hash="([0-9a-f]{1,64})"\} 1$/m.exec(metrics.text)?.[1];
  if (inForce === undefined) {
    return fail("something listens there that is not Countersign", "give admin.bind another port, or end what has it");
  }
  if (inForce !== hash) {
    const mend =
      "its log says why (config_refused); what changed a moment ago is taken up within 10 s; " +
      "a subPath mount and the environment only by a restart";
    return warn(`runs with another configuration in force (${inForce}) than this file is (${hash})`, mend);
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

/** A page, or the code of what went wrong. */
async function ask(bind: Bind, path: string, visit: Visit): Promise<Page | string> {
  const asking = request({ ...placeOf(bind), path, method: "GET", agent: false });
  const page = new Promise<Page>((resolve, reject) => {
    asking.on("error", reject).on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("error", reject);
      response.on("data", (chunk: string) => {
        text += chunk;
        if (text.length > longestAnswerBytes) asking.destroy();
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    asking.end();
  });
  try {
    return (await patiently(visit, page.catch(codeOf), answerMs)) ?? "ETIMEDOUT";
  } finally {
    asking.destroy();
  }
}

/** What listens on every address listens on loopback too. */
function placeOf(bind: Bind): ClientRequestArgs {
  if (bind.kind === "unix") return { socketPath: bind.path };
  const host = bind.host === "" || bind.host === "0.0.0.0" ? "127.0.0.1" : bind.host === "::" ? "::1" : bind.host;
  return { host, port: bind.port };
}
