import type { Server } from "node:http";
import { prefersOpenMetrics } from "./negotiate.ts";
import { createReadOnlyServer, plain } from "./read-only-server.ts";

/** What the admin port shows. */
export interface AdminViews {
  /** Whether `/readyz` is green, and why. */
  readiness(): { readonly isReady: boolean; readonly reason: string };
  /** The Prometheus exposition, in one of its text formats. */
  metrics(format: "text" | "openmetrics"): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** /livez, /readyz and /metrics for kubelet and Prometheus. `/livez` depends on nothing: it says that we can answer. */
export function createAdmin(views: AdminViews): Server {
  return createReadOnlyServer({
    "/livez": async () => plain(200, "ok"),
    "/readyz": async () => {
      const { isReady, reason } = views.readiness();
      return plain(isReady ? 200 : 503, reason);
    },
    "/metrics": async ({ accept }) => ({
      status: 200,
      ...(await views.metrics(prefersOpenMetrics(accept) ? "openmetrics" : "text")),
      vary: "Accept, Accept-Encoding",
    }),
  });
}
