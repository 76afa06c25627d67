import { expect, it } from "vitest";
import { judgeRounds } from "../../testkit/replays.ts";

it.each([
  ["two of four", "..rr", "2 of 4"],
  ["more than one in ten", `rr${".".repeat(17)}`, "2 of 19"],
])("fails the run: %s", (_, rounds, share) => {
  expect(judgeRounds(rounds)).toContain(share);
});
