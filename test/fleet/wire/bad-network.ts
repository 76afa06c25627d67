import { expect, onTestFinished } from "vitest";
import { type Simulator, startSimulator } from "../../../simulator/src/service/simulator.ts";
import { type FaultProxy, startFaultProxy } from "../../../testkit/fault-proxy.ts";
import type { WayFaults } from "../../../testkit/fault-proxy-way.ts";
import { orderRaw, type RawAnswer } from "../../../testkit/raw-caller.ts";
import { oneOfEachMethod } from "../../../testkit/simulated-sites.ts";
import { hmacSite, type Stage, type StageOptions, stageProxy } from "../../../testkit/stage.ts";

interface BadNetworkOptions extends StageOptions {
  /** Faults that begin before Countersign starts, and so before its first token request. */
  readonly loginAnswers?: Partial<WayFaults>;
  readonly refuseLogin?: boolean;
}

/** Countersign with bad networks in between: to the service, and to the authorization server. */
export async function stageBadNetwork(options: BadNetworkOptions = {}) {
  const simulator = await startSimulator({ sites: oneOfEachMethod, ...options.simulator });
  onTestFinished(() => simulator.stop());
  const service = await startFaultProxy(simulator.apiUrl);
  const login = await startFaultProxy(simulator.loginUrl);
  login.toCaller.become(options.loginAnswers ?? {});
  if (options.refuseLogin === true) login.refuse();
  const scheme = options.simulator?.tls === undefined ? "http" : "https";
  const at = ({ url }: FaultProxy) => url.replace("http://127.0.0.1", `${scheme}://localhost`);
  const stage = await stageProxy({ oneSet: true, baseUrl: at(service), authUrl: at(login), ...options });
  return { ...stage, simulator, service, login };
}

export const signed = { "Countersign-Site": hmacSite };

/** The promise is 100 ms after the deadline; two shared cores get ten times that. */
const toleranceMs = 1_000;

export interface Expected {
  readonly status: number;
  readonly code?: string;
  readonly outcome: "answered" | "unknown" | "not_sent";
}

/** Sends one order, whose answer must be whole, as expected, and between these times. Row 12a: there is always an answer. */
export async function expectOrder(
  { port }: Pick<Stage, "port">,
  headers: Readonly<Record<string, string>>,
  { status, code, outcome }: Expected,
  [earliestMs, latestMs]: readonly [number, number],
): Promise<RawAnswer> {
  const startedMs = performance.now();
  const answer = await orderRaw(port, headers);
  const tookMs = performance.now() - startedMs;
  const said = {
    status: answer.status,
    code: answer.value("countersign-error"),
    outcome: answer.value("countersign-outcome"),
    isComplete: answer.isComplete,
  };
  expect(said, answer.body).toEqual({ status, code, outcome, isComplete: true });
  // Each of up to three timers of Node's may be a millisecond early.
  expect(tookMs).toBeGreaterThanOrEqual(earliestMs - 3);
  expect(tookMs).toBeLessThan(latestMs + toleranceMs);
  return answer;
}

/** The service's counts of requests that came in whole, and of orders that now exist. */
export function ordersAt({ counts }: Simulator): { apiRequests: number; accepted: number } {
  const { apiRequests, accepted } = counts();
  return { apiRequests, accepted };
}

/** Whether nobody can take the answer for a whole answer of the service. */
export function isHonest({ status, isComplete, value }: RawAnswer): boolean {
  if (status === 200) return !isComplete;
  return status === 502 && isComplete && value("countersign-outcome") === "unknown";
}
