import type { ServerResponse } from "node:http";

/** Resolves true after the delay, or false as soon as the client has gone. */
export function pause(response: ServerResponse, delayMs: number): Promise<boolean> {
  if (response.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (isStillThere: boolean) => {
      clearTimeout(timer);
      response.off("close", leave);
      resolve(isStillThere);
    };
    const leave = () => end(false);
    const timer = setTimeout(end, delayMs, true);
    response.once("close", leave);
  });
}

/** Waits among those who wait, under an owner's id; true once woken, false as soon as the client has gone. */
export function untilReleased(
  response: ServerResponse,
  owner: number,
  waiting: Map<() => void, number>,
): Promise<boolean> {
  if (response.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (isStillThere: boolean) => {
      waiting.delete(wake);
      response.off("close", leave);
      resolve(isStillThere);
    };
    const wake = () => end(true);
    const leave = () => end(false);
    waiting.set(wake, owner);
    response.once("close", leave);
  });
}

/** Resolves when the ended answer is out (true) or the connection is gone before that (false). */
export function untilAnswered(response: ServerResponse): Promise<boolean> {
  const { socket } = response;
  if (socket === null || response.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    // A broken connection finishes its answer too: only the socket tells whether the bytes left.
    response.once("finish", () => resolve(!socket.destroyed));
    response.once("close", () => resolve(false));
  });
}
