import util from "node:util";
import type Server from "http-proxy";

export type { default as HttpProxy } from "http-proxy";

/** What is not in the package's types. */
interface Passes {
  webPasses: ((...given: unknown[]) => unknown)[];
}

/**
 * The package, with no more of it than the step that makes and sends a request.
 *
 * - It copies with `util._extend`, whose first use prints a deprecation on Node 22 and later (DEP0060). It looks for it when it is
 *   loaded, and finds `Object.assign` then.
 * - Its step `deleteLength` takes the framing from a chunked DELETE, whose body then is the next request (CVE-2026-29057).
 */
export async function loadHttpProxy(): Promise<Server> {
  const extend: unknown = Reflect.get(util, "_extend");
  Reflect.set(util, "_extend", Object.assign);
  const { default: httpProxy } = await import("http-proxy").finally(() => Reflect.set(util, "_extend", extend));
  const server = httpProxy.createProxyServer({});
  const passes = server as unknown as Passes;
  passes.webPasses = passes.webPasses.filter(({ name }) => name === "stream");
  if (passes.webPasses.length !== 1) throw new Error("http-proxy has no step that is called stream");
  return server;
}
