/** Row 59: what operators are told to grant is what the suite runs with. */
import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { aclRules, clusterRules } from "../../testkit/acl.ts";

it("docs/redis.md tells operators to grant what the tests run with, to the word", async () => {
  const text = await readFile("docs/redis.md", "utf8");
  const [, rules = ""] = /^ACL SETUSER countersign on >PASSWORD resetkeys (.*)$/m.exec(text) ?? [];
  expect(rules.split(" ")).toEqual(aclRules);
  expect(text).toContain(`\`${clusterRules.join(" ")}\``);
});
