import type { OutgoingHttpHeaders, ServerResponse } from "node:http";

/** A host's answer to one request. */
export interface Answer {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

/** How the answer was sent. */
export interface Delivery {
  /** The status line that was written, if one was. */
  readonly status: number | undefined;
  /** `cut`: the simulator broke it off; `abandoned`: the client left before the answer was sent. */
  readonly ending: "answered" | "cut" | "abandoned";
}

export function answerJson(status: number, value: unknown, headers: OutgoingHttpHeaders = {}): Answer {
  const body = Buffer.from(JSON.stringify(value));
  return { status, headers: { "content-type": "application/json", ...headers }, body };
}

/** Writes the head, with the body's length in Content-Length. */
export function writeHead(response: ServerResponse, answer: Answer): void {
  response.writeHead(answer.status, { "content-length": answer.body.length, ...answer.headers });
}

/** Answers in full, as an honest service does. */
export async function sendAnswer(response: ServerResponse, answer: Answer): Promise<Delivery> {
  if (response.destroyed) return { status: undefined, ending: "abandoned" };
  writeHead(response, answer);
  return finishAnswer(response, answer.status, answer.body);
}

/** Writes the rest of the body and waits until it is sent. */
export async function finishAnswer(response: ServerResponse, status: number, rest: Buffer): Promise<Delivery> {
  response.end(rest);
  return { status, ending: (await untilAnswered(response)) ? "answered" : "abandoned" };
}

/** Resolves true after the delay, or false as soon as the client has gone. */
export function pause(response: ServerResponse, delayMs: number): Promise<boolean> {
  return untilWoken(response, (wake) => {
    const timer = setTimeout(wake, delayMs);
    return () => clearTimeout(timer);
  });
}

/** Waits in `waiting`, under an owner's id; true once released, false as soon as the client has gone. */
export function untilReleased(
  response: ServerResponse,
  owner: number,
  waiting: Map<() => void, number>,
): Promise<boolean> {
  return untilWoken(response, (wake) => {
    waiting.set(wake, owner);
    return () => waiting.delete(wake);
  });
}

/** @param begin starts the wait and receives its `wake`; it returns a function that ends the wait */
function untilWoken(response: ServerResponse, begin: (wake: () => void) => () => void): Promise<boolean> {
  if (response.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (isStillThere: boolean) => {
      stop();
      response.off("close", leave);
      resolve(isStillThere);
    };
    const leave = () => end(false);
    const stop = begin(() => end(true));
    response.once("close", leave);
  });
}

/** Resolves true when the whole answer is sent, false if the connection is gone before that. */
function untilAnswered(response: ServerResponse): Promise<boolean> {
  const { socket } = response;
  if (socket === null || response.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    // `finish` comes on a broken connection too: only the socket shows whether the bytes left.
    response.once("finish", () => resolve(!socket.destroyed));
    response.once("close", () => resolve(false));
  });
}
