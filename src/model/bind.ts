/** Where a server listens: a TCP address, or a Unix socket's path. */
export type Bind =
  /** An empty host stands for every address. */
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

/** As in the configuration: `127.0.0.1:7411`, `:7411`, `[::1]:7411` or `unix:/run/…`. */
export function describeBind(bind: Bind): string {
  if (bind.kind === "unix") return `unix:${bind.path}`;
  return `${bind.host.includes(":") ? `[${bind.host}]` : bind.host}:${bind.port}`;
}
