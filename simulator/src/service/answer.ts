import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { untilAnswered } from "./waiting.ts";

/** What a host says to one request. */
export interface Answer {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

/** How the answer went out. */
export interface Delivery {
  /** The status line that was written, if one was. */
  readonly status: number | undefined;
  /** `cut`: the simulator broke it off; `abandoned`: the client had gone before it was out. */
  readonly ending: "answered" | "cut" | "abandoned";
}

export function answerJson(status: number, value: unknown, headers: OutgoingHttpHeaders = {}): Answer {
  const body = Buffer.from(JSON.stringify(value));
  return { status, headers: { "content-type": "application/json", ...headers }, body };
}

/** Writes the head, with the length of the body announced. */
export function writeHead(response: ServerResponse, answer: Answer): void {
  response.writeHead(answer.status, { "content-length": answer.body.length, ...answer.headers });
}

/** Answers in full, as an honest service does. */
export async function sendAnswer(response: ServerResponse, answer: Answer): Promise<Delivery> {
  if (response.destroyed) return { status: undefined, ending: "abandoned" };
  writeHead(response, answer);
  return finishAnswer(response, answer.status, answer.body);
}

/** Writes the last of the body and waits until it is out. */
export async function finishAnswer(response: ServerResponse, status: number, rest: Buffer): Promise<Delivery> {
  response.end(rest);
  return { status, ending: (await untilAnswered(response)) ? "answered" : "abandoned" };
}
