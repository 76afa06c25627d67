import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { alerts } from "../platform/prometheus/rules.ts";

// docs/alerts: an alert's `runbook_url` leads to a page of its own, which test/platform/prometheus/alerts.test.ts checks.

const names = alerts.map(({ alert }) => alert);

it("has a page for each alert, and no other", () => {
  expect(readdirSync("docs/alerts").sort()).toEqual(names.map((name) => `${name}.md`).sort());
});

it.each(names)("%s says what it means, where to look and what to do, on one screen", (name) => {
  const text = readFileSync(`docs/alerts/${name}.md`, "utf8");
  const parts = text.match(/^\*\*(?:Means|Look|Do)\*\*:|^\*\*Look\*\*, \*\*do\*\*: as for \[Countersign/gm) ?? [];
  expect(text.startsWith(`# ${name}\n\n**Means**: `)).toBe(true);
  if (parts.length === 2) expect(parts[1]).toMatch("as for");
  else expect(parts).toEqual(["**Means**:", "**Look**:", "**Do**:"]);
  expect(text.split("\n").length).toBeLessThanOrEqual(30);
});
