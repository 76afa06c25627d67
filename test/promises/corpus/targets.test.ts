/** Proves row 2 on a corpus: no request target leads anywhere but to a listed operation of the listener's own environment. */
import { it } from "vitest";
import { playAll } from "./play.ts";
import { targetsAt } from "./targets.ts";

it("no target leads anywhere but to a listed operation", async () => void (await playAll(targetsAt)));
