import { expect, onTestFinished } from "vitest";
import { type Demo, openDemo } from "../../simulator/src/demo/env.ts";
import { plainEnvironment, startProgram } from "../../testkit/run-program.ts";

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
  const demo: Demo = await openDemo({ listener: 0, admin: 0, status: 0, api: 0, login: 0 });
  onTestFinished(() => demo.close("test"));
  const { simulator, url, ports } = demo;
  const serviceUrl = `${simulator.apiUrl}/create_order`;
  const { command, args, env } = describe({
    url: `${url}/create_order`,
    serviceUrl,
    proxy: url,
    proxyPort: ports.listener,
  });
  const client = startProgram(command, args, plainEnvironment(env));
  const ended = await client.ended;
  expect(ended, client.stderr()).toBe(0);
  expect(client.stdout()).toContain('"order_amount":"10.00"');
  const [request, ...more] = simulator.seen.apiRequests;
  expect(more).toEqual([]);
  expect(request?.orderId).toBe("order_1");
  expect(JSON.parse(request?.body.toString("utf8") ?? "")).toMatchObject({
    order_amount: "10.00",
    site_identifier: "S1000000001",
  });
  const names = request?.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  expect(names?.filter((name) => /^(upgrade|http2-settings|proxy-)/.test(name))).toEqual([]);
}

/** The name of a test with a program that a machine may lack. */
export function nameFor(isThere: boolean, program: string, promise: string): string {
  return isThere ? promise : `NOT TRIED, ${program} is not installed: ${promise}`;
}
