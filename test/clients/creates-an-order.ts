import { expect, onTestFinished } from "vitest";
import { openDemo } from "../../simulator/src/demo/env.ts";
import { headerPairs } from "../../testkit/header-pairs.ts";
import { plainEnvironment, runToEnd } from "../../testkit/run-program.ts";

/** What every client is told to send: numbers as numbers, as an application has them. */
export const body = '{"order_amount":10,"order_currency":"EUR","site_customer_identifier":"customer_1"}';

/** A client's command line, once it is known where Countersign is. */
export interface ClientCall {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Where clients are pointed to: a base URL; or the service's own http:// name, and Countersign as its proxy. */
export interface Places {
  readonly url: string;
  /** Through a proxy setting. */
  readonly serviceUrl: string;
  readonly proxy: string;
  readonly proxyPort: number;
}

/** Runs the client against the demo's proxy: it has created one order, of "10.00", and was told so. */
export async function expectOrder(describe: (places: Places) => ClientCall): Promise<void> {
  const demo = await openDemo({ listener: 0, admin: 0, status: 0, api: 0, login: 0 });
  onTestFinished(() => demo.close("test"));
  const { simulator, url, ports } = demo;
  const serviceUrl = `${simulator.apiUrl}/create_order`;
  const places = { url: `${url}/create_order`, serviceUrl, proxy: url, proxyPort: ports.listener };
  const { command, args, env } = describe(places);
  const { exitCode, stdout, stderr } = await runToEnd(command, args, plainEnvironment(env));
  expect(exitCode, stderr).toBe(0);
  expect(stdout).toContain('"order_amount":"10.00"');
  const [request, ...more] = simulator.seen.apiRequests;
  expect(more).toEqual([]);
  expect(request?.orderId).toBe("order_1");
  expect(JSON.parse(request?.body.toString("utf8") ?? "")).toMatchObject({
    order_amount: "10.00",
    site_identifier: "S1000000001",
  });
  const lines = headerPairs(request?.rawHeaders ?? []);
  expect(lines.filter(([name]) => /^(upgrade|http2-settings|proxy-)/.test(name))).toEqual([]);
}
