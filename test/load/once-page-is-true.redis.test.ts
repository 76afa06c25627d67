/** The commands of docs/once.md, run from first to last: one order is created, and its repetition gets the same answer; an unknown one is settled. */

import { it } from "vitest";
import { isInstalled } from "../../testkit/run-program.ts";
import { follow } from "../../testkit/try-it.ts";

const page = "docs/once.md";
it.runIf(isInstalled("curl", "--version"))("the commands of docs/once.md create an order, and only one", async () => {
  await follow({
    page,
    heading: "Try it",
    prints: [/200 OK[\s\S]*(\{"status":"ok","order":.*)[\s\S]*200 OK[\s\S]*Countersign-Replayed: true[\s\S]*\1/],
  });
});
