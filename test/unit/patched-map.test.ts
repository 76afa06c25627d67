/** A map with patches reads as a copy with the new values would, in the same order, and shares its base. */
import { expect, it } from "vitest";
import { PatchedMap } from "../../src/model/patched-map.ts";

const base: ReadonlyMap<string, number> = new Map(Array.from({ length: 2_000 }, (_, n) => [`S${n}`, n]));

it("has the new values in the former order, also after hundreds of changes, and leaves the former maps as they were", () => {
  let map = base;
  const expected = new Map(base);
  for (let n = 0; n < 1_100; n += 1) {
    const before = [...map];
    const key = `S${(n * 7) % 2_000}`;
    const next = PatchedMap.with(map, new Map([[key, -n]]));
    if (n % 100 === 0) expect([...map]).toEqual(before);
    map = next;
    expected.set(key, -n);
  }
  expect([...map]).toEqual([...expected]);
  expect([...map.keys()]).toEqual([...expected.keys()]);
  expect([...map.values()]).toEqual([...expected.values()]);
  const each: [string, number][] = [];
  map.forEach((value, key) => void each.push([key, value]));
  expect(each).toEqual([...expected]);
  expect([map.size, map.get("S7"), map.get("no"), map.has("S7"), map.has("no")]).toEqual([
    2_000,
    -1,
    undefined,
    true,
    false,
  ]);
});

it("names the changed keys alone", () => {
  const one = PatchedMap.with(base, new Map([["S1", -1]]));
  const two = PatchedMap.with(one, new Map([["S2", -2]]));
  expect([...PatchedMap.changedKeys(base, two)]).toEqual(["S1", "S2"]);
  expect([...PatchedMap.changedKeys(one, base)]).toEqual(["S1"]);
  expect(PatchedMap.with(one, new Map())).toBe(one);
  const other = new Map([["S9000", 1]]);
  expect(PatchedMap.changedKeys(one, other)).toEqual(new Set([...base.keys(), "S9000"]));
});
