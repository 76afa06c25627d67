/** Row 60: curl proves itself to a listener that asks for tokens, in the ways that it has for proxies. */
import { expect, it } from "vitest";
import { orderText } from "../../testkit/raw-caller.ts";
import { isInstalled, nameFor, runToEnd } from "../../testkit/run-program.ts";
import { stageWithTokens, token } from "../promises/proxy/callers.ts";

const isThere = isInstalled("curl", "--version");

/** A URL with the service's own name, which the proxy serves, and the proxy's own, without and with a token. */
type Addresses = Readonly<Record<"service" | "proxy" | "withToken", string>>;

it.runIf(isThere).each<[string, (at: Addresses) => string[]]>([
  ["by the proxy's URL", ({ service, withToken }) => ["-x", withToken, service]],
  ["by --proxy-user", ({ service, proxy }) => ["-x", proxy, "--proxy-user", `:${token}`, service]],
  [
    "once it is asked to",
    ({ service, proxy }) => ["-x", proxy, "--proxy-anyauth", "--proxy-user", `app:${token}`, service],
  ],
  ["by a header, at the base URL", ({ proxy }) => ["-H", `Proxy-Authorization: Bearer ${token}`, proxy]],
])(nameFor(isThere, "curl", "%s"), async (_, describeArguments) => {
  const { port, simulator } = await stageWithTokens();
  const place = `127.0.0.1:${port}/create_order`;
  const own = describeArguments({
    service: `${simulator.apiUrl}/create_order`,
    proxy: `http://${place}`,
    withToken: `http://app:${token}@${place}`,
  });
  const args = ["-sS", "-f", "-H", "Content-Type: application/json", "-d", orderText, ...own];
  const { exitCode, stderr } = await runToEnd("curl", args);
  expect(exitCode, stderr).toBe(0);
  expect(simulator.counts()).toMatchObject({ accepted: 1, apiRequests: 1 });
});
