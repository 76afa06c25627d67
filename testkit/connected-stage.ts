import { RawConnection } from "./raw-caller.ts";
import { ShiftedClock } from "./shifted-clock.ts";
import { type Stage, type StageOptions, stageProxy } from "./stage.ts";

export interface ConnectedStage extends Stage {
  readonly clock: ShiftedClock;
  readonly connection: RawConnection;
}

/** A stage whose clock the test moves on, and a caller's connection to it whose bytes the test writes. */
export async function stageConnected(options: StageOptions = {}): Promise<ConnectedStage> {
  const clock = new ShiftedClock();
  const stage = await stageProxy({ ...options, surroundings: { clock, ...options.surroundings } });
  return { ...stage, clock, connection: await RawConnection.open(stage.port) };
}
