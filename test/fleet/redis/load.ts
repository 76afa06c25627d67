import type { Replica } from "../../../testkit/fleet.ts";

interface Sent {
  readonly atMs: number;
  tookMs: number;
  failure: string | undefined;
}

/** Further requests wait for their turn: answers that never come must not fill the memory. */
const mostInFlight = 1_000;
const tickMs = 5;

/**
 * Sends orders at a steady pace, to one replica after the other, however long the answers take: a slow answer delays no other
 * request, so that a stall is seen in full.
 */
export function startLoad(replicas: readonly Pick<Replica, "order">[], perSecond: number) {
  const startedMs = performance.now();
  const all: Sent[] = [];
  const inFlight = new Set<Promise<void>>();

  const send = async (replica: Pick<Replica, "order">, sent: Sent) => {
    sent.failure = await replica.order().then(
      ({ status, text }) => (status === 200 ? undefined : `${status} ${text}`),
      (error: unknown) => String(error),
    );
    sent.tookMs = performance.now() - sent.atMs;
  };
  const timer = setInterval(() => {
    const wanted = Math.floor(((performance.now() - startedMs) * perSecond) / 1_000);
    while (all.length < wanted && inFlight.size < mostInFlight) {
      const replica = replicas[all.length % replicas.length];
      if (replica === undefined) return;
      const sent: Sent = { atMs: performance.now(), tookMs: Number.POSITIVE_INFINITY, failure: "no answer" };
      all.push(sent);
      const answered = send(replica, sent).finally(() => inFlight.delete(answered));
      inFlight.add(answered);
    }
  }, tickMs);

  return {
    /** Continues for so long, and resolves when all requests sent by then have an answer. */
    async during(forMs: number) {
      const first = all.length;
      await new Promise((resolve) => setTimeout(resolve, forMs));
      const last = all.length;
      await Promise.all(inFlight);
      return summarise(all.slice(first, last));
    },
    /** Sends no more, and waits for the last answer; sums up all requests. */
    async stop() {
      clearInterval(timer);
      await Promise.all(inFlight);
      return summarise(all);
    },
  };
}

/** `failures`: every answer other than 200, and every broken connection, in words. */
function summarise(requests: readonly Sent[]) {
  const times = requests.map(({ tookMs }) => tookMs).sort((one, other) => one - other);
  return {
    sent: requests.length,
    failures: requests.flatMap(({ failure }) => failure ?? []),
    p99Ms: times[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN,
    slowestMs: times.at(-1) ?? Number.NaN,
  };
}

/** Prints figures for the reader of the test's output: the asserted bounds are ten times the promise. */
export function print(what: string, figures: Readonly<Record<string, number>>): void {
  const words = Object.entries(figures).map(([name, value]) => `${name} ${Math.round(value * 10) / 10}`);
  // biome-ignore lint/suspicious/noConsole: figures belong beside the verdict
  console.info(`${what}: ${words.join(", ")}`);
}

/**
 * Many orders through several replicas at the same moment, how many answers there were of each status, and the time from the first
 * order's start to the last answer's end.
 * @param each how many orders go through each replica
 */
export async function burst(replicas: readonly Replica[], each: number) {
  const startedMs = performance.now();
  const turns = Array.from({ length: each }, () => replicas).flat();
  const answers = await Promise.all(turns.map((replica) => replica.order()));
  const tookMs = performance.now() - startedMs;
  const statuses: Record<string, number> = {};
  for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1;
  return { answers, statuses, tookMs };
}
