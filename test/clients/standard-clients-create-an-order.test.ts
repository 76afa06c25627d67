/**
 * An unchanged client of a language creates an order, by the base URL and by HTTP_PROXY; curl proves itself to a
 * listener that demands tokens, in each way that it has for proxies.
 */
import { expect, it, onTestFinished } from "vitest";
import { openDemo } from "../../simulator/src/demo/env.ts";
import { headerPairs } from "../../testkit/header-pairs.ts";
import { orderText } from "../../testkit/raw-caller.ts";
import { isInstalled, nameFor, plainEnvironment, runToEnd } from "../../testkit/run-program.ts";
import { stageWithTokens, token } from "../promises/proxy/callers.ts";

/** The body of numbers as JSON numbers, as in an application. */
const body = '{"order_amount":10,"order_currency":"EUR","site_customer_identifier":"customer_1"}';
const hasPython = isInstalled("python3", "--version");

/** Countersign's address, or as its proxy the service's own http:// name. */
it.runIf(hasPython).each([
  ["the base URL", false],
  ["its proxy and the service's http:// name", true],
])(nameFor(hasPython, "python3", "Python's urllib creates an order by %s"), async (_, isByProxy) => {
  const demo = await openDemo({ listener: 0, admin: 0, status: 0, api: 0, login: 0 });
  onTestFinished(() => demo.close("test"));
  const { simulator, url } = demo;
  const args = [
    "test/clients/programs/python/one_order.py",
    `${isByProxy ? simulator.apiUrl : url}/create_order`,
    body,
  ];
  const env = plainEnvironment(isByProxy ? { http_proxy: url } : {});
  const { exitCode, stdout, stderr } = await runToEnd("python3", args, env);
  expect(exitCode, stderr).toBe(0);
  expect(stdout).toContain('"order_amount":"10.00"');
  const [request, ...more] = simulator.seen.apiRequests;
  expect(more).toEqual([]);
  expect(request?.orderId).toBe("order_1");
  const sent = JSON.parse(request?.body.toString("utf8") ?? "");
  expect(sent).toMatchObject({ order_amount: "10.00", site_identifier: "S1000000001" });
  const lines = headerPairs(request?.rawHeaders ?? []);
  expect(lines.filter(([name]) => name?.startsWith("proxy-"))).toEqual([]);
});

const hasCurl = isInstalled("curl", "--version");

/** A URL with the service's own name, which the proxy serves, and the proxy's own address, without and with a token. */
type Addresses = Readonly<Record<"service" | "proxy" | "withToken", string>>;

it.runIf(hasCurl).each<[string, (at: Addresses) => string[]]>([
  ["by the proxy's URL", ({ service, withToken }) => ["-x", withToken, service]],
  ["by --proxy-user", ({ service, proxy }) => ["-x", proxy, "--proxy-user", `:${token}`, service]],
  [
    "after the proxy asks for it",
    ({ service, proxy }) => ["-x", proxy, "--proxy-anyauth", "--proxy-user", `app:${token}`, service],
  ],
  ["by a header, at the base URL", ({ proxy }) => ["-H", `Proxy-Authorization: Bearer ${token}`, proxy]],
])(nameFor(hasCurl, "curl", "curl proves itself %s"), async (_, describeArguments) => {
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
