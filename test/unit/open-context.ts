import type { Clock } from "../../src/model/clock.ts";
import type { Environment } from "../../src/model/environment.ts";
import { openAccessEvent } from "../../src/proxy/access-event.ts";
import { RequestContext } from "../../src/proxy/context.ts";

/** The context of a request of which nothing is known but that it came. */
export function openContext(clock: Clock, requestMs: number): RequestContext {
  const environment = { name: "sandbox" } as Environment;
  const event = openAccessEvent("id", { headers: [] }, undefined, { environment, hosts: "any", url: "" });
  return new RequestContext(event, clock, requestMs);
}
