import type { Reply } from "./ask.ts";
import type { Lane } from "./lane.ts";

/** Something short that a proxy lives through. The replies are those that every caller must get. */
export interface Scene {
  readonly name: string;
  play(lane: Lane): Promise<readonly Reply[]>;
}
