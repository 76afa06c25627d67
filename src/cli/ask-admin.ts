import { type ClientRequestArgs, request } from "node:http";
import type { Bind } from "../model/bind.ts";
import { type Clock, within } from "../model/clock.ts";
import { codeOf } from "./doctor/check.ts";

/** Far more than any `/metrics` has. */
const longestAnswerBytes = 8 * 1_048_576;

export interface Page {
  readonly status: number;
  readonly text: string;
}

/** A page of the admin port of the `serve` that runs beside, or the code of what went wrong. */
export async function askAdmin(bind: Bind, path: string, limitMs: number, clock: Clock): Promise<Page | string> {
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
    return (await within(clock, page.catch(codeOf), limitMs)) ?? "ETIMEDOUT";
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
