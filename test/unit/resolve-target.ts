import type { Environment } from "../../src/model/environment.ts";
import type { ListenerContext } from "../../src/proxy/messages.ts";
import { checkAuthority, loopbackHosts, parseTarget, resolveTarget } from "../../src/proxy/target.ts";
import { addressOf } from "../../testkit/address.ts";

export function listener(baseUrl: string, hosts: readonly string[] = []): ListenerContext {
  const operations = new Set(["create_order", "orders/list"]);
  const environment = { name: "sandbox", baseUrl: addressOf(baseUrl), operations } as unknown as Environment;
  return { environment, hosts: new Set([...loopbackHosts, ...hosts]), url: "http://127.0.0.1:7411" };
}

export const sandbox = listener("https://api.sandbox.example/json-api");

/** Both steps of the main path. */
export function resolve(text: string, at = sandbox, host = "localhost"): string {
  const target = parseTarget(text);
  checkAuthority(target, at);
  return resolveTarget(target, host, at);
}
