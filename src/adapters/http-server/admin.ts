import type { IncomingHttpHeaders, Server } from "node:http";
import { hostname } from "node:os";
import { prefersOpenMetrics } from "./content-negotiation.ts";
import { createReadOnlyServer, isOwnHost, plain } from "./read-only-server.ts";

/** What the admin port shows. */
export interface AdminViews {
  /** Whether `/readyz` is green, and why. */
  readiness(): { readonly isReady: boolean; readonly reason: string };
  /** The Prometheus exposition, in one of its text formats. */
  metrics(format: "text" | "openmetrics"): Promise<{ readonly contentType: string; readonly text: string }>;
}

/**
 * /livez, /readyz and /metrics for kubelet and Prometheus. `/livez` depends on nothing: it says that we can answer. Probes
 * may use any name; /metrics is shown under this machine's own names alone, as the status port is.
 * @param hosts `admin.hosts` of the active configuration, in lower case
 */
export function createAdmin(views: AdminViews, hosts: () => readonly string[] = () => []): Server {
  const pages = {
    "/livez": async () => plain(200, "ok"),
    "/readyz": async () => {
      const { isReady, reason } = views.readiness();
      return plain(isReady ? 200 : 503, reason);
    },
    "/metrics": async ({ accept }: IncomingHttpHeaders) => ({
      status: 200,
      ...(await views.metrics(prefersOpenMetrics(accept) ? "openmetrics" : "text")),
      vary: "Accept, Accept-Encoding",
    }),
  };
  const own = hostname().toLowerCase();
  const mayRead = (path: string, host: string) => path !== "/metrics" || isOwnHost(host, [own, ...hosts()]);
  return createReadOnlyServer(pages, mayRead, ", or list the name in admin.hosts");
}
