import { seededRandom } from "../../testkit/seeded-random.ts";
import type { Fault } from "./fault.ts";
import { faultsOfProcesses } from "./faults-of-processes.ts";
import { faultsOfService } from "./faults-of-service.ts";
import { faultsOfTokens } from "./faults-of-tokens.ts";

export const everyFault: readonly Fault[] = [...faultsOfTokens, ...faultsOfService, ...faultsOfProcesses];

/** One fault after the other without end: each comes once, in an order that the seed decides, before any comes again. */
export function* schedule<Item>(items: readonly Item[], seed: number): Generator<Item, never> {
  const random = seededRandom(seed);
  for (;;) yield* shuffle(items, random);
}

/** Fisher and Yates. */
function shuffle<Item>(items: readonly Item[], random: () => number): Item[] {
  const rest = [...items];
  return items.flatMap(() => rest.splice(Math.floor(random() * rest.length), 1));
}
