/** What CONTRIBUTING.md says of foreign code that is changed at run time, where no other test would notice another form of it. */
import dns from "node:dns";
import { connect } from "node:net";
import util from "node:util";
import { expect, it, onTestFinished, vi } from "vitest";
import { loadHttpProxy } from "../../src/adapters/http-proxy/exchange.ts";

it("Node reads dns.lookup from its module at each look-up", async () => {
  const lookup = vi
    .spyOn(dns, "lookup")
    .mockImplementation(((_: string, __: object, done: (error: Error) => void) => done(new Error("asked"))) as never);
  onTestFinished(() => lookup.mockRestore());
  const failure = await new Promise((resolve) => connect({ host: "name.invalid", port: 1 }).once("error", resolve));
  expect(failure).toMatchObject({ message: "asked" });
});

it("http-proxy copies with the function that util._extend was when it was loaded, and runs the steps in webPasses", async () => {
  // Not in its types any more.
  const extend = vi.spyOn(util as unknown as { _extend(to: object, from: object): object }, "_extend");
  onTestFinished(() => extend.mockRestore());
  const proxy = await loadHttpProxy();
  expect(Reflect.get(util, "_extend")).toBe(extend);
  const step = vi.fn();
  Object.assign(proxy, { webPasses: [step] });
  proxy.web({ headers: {}, url: "/" } as never, {} as never, { target: "http://name.invalid" }, () => {});
  expect(step).toHaveBeenCalledOnce();
  expect(extend).not.toHaveBeenCalled();
});
