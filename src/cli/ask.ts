import { once } from "node:events";
import { type ClientRequest, type ClientRequestArgs, type IncomingHttpHeaders, request } from "node:http";
import { type Clock, within } from "../model/clock.ts";
import { errorCodeOf } from "../model/defect.ts";
import type { Bind } from "../model/listener.ts";

/** Far more than any `/metrics` page has. */
const longestTextBytes = 8 * 1_048_576;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends one request. Returns the answer, or the code of the failure: ETIMEDOUT after `limitMs`. */
export async function ask(
  options: ClientRequestArgs,
  limitMs: number,
  clock: Clock,
  body?: string,
): Promise<Answer | string> {
  const asking = request(options);
  const answer = readAnswer(asking, body).catch((error) => errorCodeOf(error) ?? "UNKNOWN");
  try {
    return (await within(clock, answer, limitMs)) ?? "ETIMEDOUT";
  } finally {
    asking.destroy();
  }
}

async function readAnswer(asking: ClientRequest, body: string | undefined): Promise<Answer> {
  const [response] = await once(asking.on("error", () => {}).end(body), "response");
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) {
    text += chunk;
    if (text.length > longestTextBytes) asking.destroy();
  }
  return { status: response.statusCode, headers: response.headers, text };
}

/** Gets a page from the admin port of the running `serve`. */
export function askAdmin(bind: Bind, path: string, limitMs: number, clock: Clock): Promise<Answer | string> {
  return ask({ ...addressOf(bind), path, agent: false }, limitMs, clock);
}

/** A server that listens on every address listens on loopback too. */
function addressOf(bind: Bind): ClientRequestArgs {
  if (bind.kind === "unix") return { socketPath: bind.path };
  const host = bind.host === "" || bind.host === "0.0.0.0" ? "127.0.0.1" : bind.host === "::" ? "::1" : bind.host;
  return { host, port: bind.port };
}
