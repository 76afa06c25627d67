import type { Environment } from "../../model/environment.ts";
import type { Send } from "../../proxy/messages.ts";
import { Attempt } from "./attempt.ts";
import type { ConnectionPool } from "./connection-pool.ts";

/**
 * Sends each request once: nothing is repeated, and no redirect followed.
 * @param poolOf the connections to an environment's baseUrl
 */
export function createSend(poolOf: (environment: Environment) => ConnectionPool): Send {
  return (request, deadlineMs, onConnected) =>
    new Promise((resolve, reject) => {
      const attempt = new Attempt(request, deadlineMs, onConnected, resolve, reject);
      poolOf(request.environment).send(attempt);
    });
}
