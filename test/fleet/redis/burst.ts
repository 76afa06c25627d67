import type { Called } from "../../../testkit/call.ts";
import type { Replica } from "../../../testkit/fleet.ts";

/** Many orders through several replicas at the same moment, and what became of them. */
export interface Burst {
  readonly answers: readonly Called[];
  /** How many answers there were of each status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** From the first order's start to the last answer's end. */
  readonly tookMs: number;
  readonly p99Ms: number;
}

/** Headers of the n-th order, counted over all replicas. */
type HeadersOf = (n: number) => Readonly<Record<string, string>>;

/** @param each how many orders go through each replica */
export async function burst(
  replicas: readonly Replica[],
  each: number,
  headersOf: HeadersOf = () => ({}),
): Promise<Burst> {
  const times: number[] = [];
  const startedMs = performance.now();
  const send = async (replica: Replica, n: number) => {
    const sentMs = performance.now();
    const answer = await replica.order(headersOf(n));
    times.push(performance.now() - sentMs);
    return answer;
  };
  const turns = Array.from({ length: each }, () => replicas).flat();
  const answers = await Promise.all(turns.map(send));
  const statuses: Record<string, number> = {};
  for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1;
  const tookMs = performance.now() - startedMs;
  times.sort((one, other) => one - other);
  return { answers, statuses, tookMs, p99Ms: times[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN };
}
