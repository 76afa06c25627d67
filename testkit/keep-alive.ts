import { Agent } from "node:http";
import { onTestFinished } from "vitest";

/** Keeps connections open between calls, as an application does. Ends with the test. */
export function keepAlive(maxSockets = Number.POSITIVE_INFINITY): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets });
  onTestFinished(() => agent.destroy());
  return agent;
}
