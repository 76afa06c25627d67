import type { Dispatcher, Pool } from "undici";
import type { Clock } from "../../model/clock.ts";
import type { Environment } from "../../model/environment.ts";
import type { Send } from "../../proxy/messages.ts";
import { Attempt } from "./attempt.ts";

/**
 * Sends by `dispatch`, which, unlike fetch and the retry agents, never repeats and never redirects.
 * @param poolOf the pool of an environment's baseUrl
 */
export function createSend(poolOf: (environment: Environment) => Pool, clock: Clock): Send {
  return (outgoing, deadlineMs, onConnected) => {
    const attempt = new Attempt(outgoing, deadlineMs, clock, onConnected);
    const options: Dispatcher.DispatchOptions = {
      method: "POST",
      path: outgoing.path,
      headers: outgoing.headers.flat(),
      body: attempt.bytes,
    };
    try {
      poolOf(outgoing.environment).dispatch(options, attempt);
    } catch (error) {
      attempt.onResponseError(undefined, error);
    }
    return attempt.answer;
  };
}
