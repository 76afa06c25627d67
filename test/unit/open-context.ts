import type { Clock } from "../../src/model/clock.ts";
import type { Environment } from "../../src/model/environment.ts";
import { BufferBudget } from "../../src/serving/buffer-budget.ts";
import { ConcurrencyLimit } from "../../src/serving/concurrency-limit.ts";
import { RequestContext } from "../../src/serving/context.ts";
import type { CallerRequest } from "../../src/serving/messages.ts";

/** The context of a request that has just arrived. */
export function openContext(clock: Clock, requestMs: number, isClosed = () => false): RequestContext {
  const environment = { name: "sandbox" } as Environment;
  const [concurrency, buffers] = [new ConcurrencyLimit(1), new BufferBudget(1_000_000, clock)];
  const parts = { clock, newRequestId: () => "id", requestMs, concurrency, buffers };
  const listener = { environment, hosts: "any", url: "" } as const;
  const request = { method: "", target: "", headers: [], isClosed } as unknown as CallerRequest;
  return new RequestContext(request, { text: "" }, listener, parts);
}
