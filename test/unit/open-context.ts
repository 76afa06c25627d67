import type { Clock } from "../../src/model/clock.ts";
import type { Environment } from "../../src/model/environment.ts";
import { openAccessEvent } from "../../src/proxy/access-event.ts";
import { BufferBudget } from "../../src/proxy/buffer-budget.ts";
import { Admission, ConcurrencyLimit } from "../../src/proxy/concurrency-limit.ts";
import { RequestContext } from "../../src/proxy/context.ts";

/** The context of a request of which nothing is known but that it came. */
export function openContext(clock: Clock, requestMs: number): RequestContext {
  const environment = { name: "sandbox" } as Environment;
  const event = openAccessEvent("id", { headers: [] }, undefined, { environment, hosts: "any", url: "" });
  const admission = new Admission(new ConcurrencyLimit(1), new BufferBudget(1_000_000, clock));
  return new RequestContext(event, admission, clock, requestMs);
}
