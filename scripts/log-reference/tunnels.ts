import { common, type Reference } from "./line.ts";

/** The lines of tunnels through forward proxies. */
export const tunnelLines: Reference<"tunnel_requested"> = {
  tunnel_requested: {
    levels: ["trace", "warn", "debug"],
    when:
      "A forward proxy was asked for a tunnel (`egress`). `warn`: it gave none; the same failure again within a minute is " +
      "`debug`.",
    fields: {
      environment: common.environment,
      proxy: "`host:port` of the proxy.",
      destination: "`host:port` that the tunnel is for.",
      result:
        "`opened`, `unauthorized` (407), `refused` (another status), `malformed` (no HTTP/1.1), `timed_out` " +
        "(`timeouts.connect`) or `failed` (no connection to the proxy, or it broke).",
      cause: "Why there is no tunnel: `PROXY_STATUS_407`, `PROXY_ECONNREFUSED`, `PROXY_TIMEOUT`, …",
      durationMs: "From the attempt to connect to the proxy.",
      isFirst: "Whether this failure is the first of its kind for a minute.",
    },
  },
};
