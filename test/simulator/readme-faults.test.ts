/** The simulator's page lists every fault, each in a form that is accepted, and its address of the control endpoint. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { readFault } from "../../simulator/src/service/fault.ts";

const page = readFileSync("simulator/README.md", "utf8");
const rows = [...page.matchAll(/^\| `(\{.+?\})` \|/gm)].map(([, fault = ""]) => JSON.parse(fault));

it("has every kind", () => {
  const [, kinds = ""] = /kind must be one of (.*)/.exec(String(refusalOf({ host: "api" }))) ?? [];
  expect([...new Set(rows.map(({ kind }) => kind))].sort()).toEqual(kinds.split(", ").sort());
});

it.each(rows)("shows a fault that is accepted: %j", (fault) => {
  expect(refusalOf(fault)).toBeUndefined();
});

function refusalOf(fault: unknown): unknown {
  try {
    readFault(fault);
    return undefined;
  } catch (error) {
    return error;
  }
}
