import type { Server } from "node:http";
import { createReadOnlyServer } from "./read-only-server.ts";

/** /status as JSON: what is configured, how each token stands, what failed. Redacted by its makers. */
export function createStatus(snapshot: () => unknown): Server {
  return createReadOnlyServer({
    "/status": async () => ({
      status: 200,
      contentType: "application/json",
      text: `${JSON.stringify(snapshot(), null, 2)}\n`,
    }),
  });
}
