import type { Fleet } from "./fleet.ts";
import { countRound } from "./replays.ts";

const rounds = 5;

/**
 * "Over all replicas" holds while Redis answers. On a busy machine it may stand still for longer than a command's 100 ms,
 * and then each process rightly goes its own way: a round that fails after that proves nothing, and is played again
 * with new processes. A round without such a disturbance counts, whatever it shows.
 */
export async function undisturbed(stage: () => Promise<Fleet>, play: (fleet: Fleet) => Promise<void>): Promise<void> {
  for (let round = 1; ; round++) {
    countRound(round > 1);
    const fleet = await stage();
    try {
      await play(fleet);
      return;
    } catch (error) {
      const missed = await fleet.sum("countersign_redis_errors_total");
      if (missed === 0) throw error;
      if (round === rounds) throw new Error(`Redis was too slow in each of ${rounds} rounds; the last: ${error}`);
      process.stdout.write(`round ${round}: Redis was too slow ${missed} times on this busy machine; once more\n`);
      for (const replica of fleet.replicas) replica.signal("SIGKILL");
    }
  }
}
