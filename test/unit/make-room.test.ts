/** Which connection is closed for a new one. */
import { expect, it } from "vitest";
import { longestWaiting } from "../../src/adapters/http-server/listener.ts";

const places = (...all: (readonly [owner: string, waitsSince: number | undefined])[]) =>
  all.map(([owner, waitsSince]) => ({ owner, waitsSince }));

it.each([
  ["the connection that has waited the longest", places(["a", 3], ["a", 1], ["a", 2]), "a", 1],
  ["one of the owner with most connections", places(["b", 1], ["a", 3], ["a", 2]), "c", 2],
  ["one of the new connection's owner, if that owner has most", places(["b", 1], ["b", 2], ["a", 3], ["a", 4]), "a", 2],
  [
    "one of another owner, if all connections of the owner with most are busy",
    places(["a", undefined], ["a", undefined], ["b", 1]),
    "c",
    2,
  ],
  [
    "none of an owner with fewer connections than the new one's owner",
    places(["a", undefined], ["a", undefined], ["b", 1]),
    "a",
    undefined,
  ],
  ["none while all are busy", places(["a", undefined], ["b", undefined]), "c", undefined],
  ["none that has waited too short a time", places(["a", 10], ["a", 11]), "b", undefined],
  ["none if there are none", [], "a", undefined],
])("the connection that is closed: %s", (_, all, owner, index) => {
  expect(longestWaiting(all, owner, 10)).toBe(index === undefined ? undefined : all[index]);
});
