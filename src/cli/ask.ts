import { type ClientRequestArgs, type IncomingHttpHeaders, request } from "node:http";
import type { Bind } from "../model/bind.ts";
import type { Clock } from "../model/clock.ts";
import { errorCodeOf } from "../model/defect.ts";
import { within } from "../oauth/within.ts";

/** Far more than any `/metrics` has. */
const longestTextBytes = 8 * 1_048_576;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** The answer to one request without a body, or the code of what went wrong: ETIMEDOUT when it took too long. */
export async function ask(options: ClientRequestArgs, limitMs: number, clock: Clock): Promise<Answer | string> {
  const asking = request(options);
  const answer = new Promise<Answer>((resolve, reject) => {
    asking.on("error", reject).on("response", (response) => {
      const { statusCode: status = 0, headers } = response;
      let text = "";
      response.setEncoding("utf8").on("error", reject);
      response.on("data", (chunk: string) => {
        text += chunk;
        if (text.length > longestTextBytes) asking.destroy();
      });
      response.on("end", () => resolve({ status, headers, text }));
    });
    asking.end();
  });
  try {
    return (await within(clock, answer.catch(errorCodeOf), limitMs)) ?? "ETIMEDOUT";
  } finally {
    asking.destroy();
  }
}

/** Gets a page of the admin port of the `serve` beside. */
export function askAdmin(bind: Bind, path: string, limitMs: number, clock: Clock): Promise<Answer | string> {
  return ask({ ...addressOf(bind), path, agent: false }, limitMs, clock);
}

/** A server that listens on every address listens on loopback too. */
function addressOf(bind: Bind): ClientRequestArgs {
  if (bind.kind === "unix") return { socketPath: bind.path };
  const host = bind.host === "" || bind.host === "0.0.0.0" ? "127.0.0.1" : bind.host === "::" ? "::1" : bind.host;
  return { host, port: bind.port };
}
