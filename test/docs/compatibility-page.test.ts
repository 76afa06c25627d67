/** docs/compatibility.md names what the code has. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { redisKey } from "../../src/adapters/redis/scripts.ts";
import { exitCodes } from "../../src/cli/command.ts";
import { failures } from "../../src/model/errors.ts";

const page = readFileSync("docs/compatibility.md", "utf8");

it("names the form of the keys in Redis", () => {
  const [prefix] = redisKey("x", "token").split("{");
  expect(page).toContain(`Keys begin with \`${prefix}\``);
});

it("names the versions of Node.js that package.json takes, and those that the tests run on", () => {
  const { engines } = JSON.parse(readFileSync("package.json", "utf8"));
  const newer = readFileSync(".ci/run", "utf8").matchAll(/run_tests_on (\d+)/g);
  const tested = ["20", ...[...newer].map(([, line]) => line)];
  const lines = `${tested.slice(0, -1).join(", ")} and ${tested.at(-1)}`;
  expect(page).toContain(`\`engines\` says \`${engines.node}\`; ${lines} are tested.`);
});

it("names every exit code and every outcome", () => {
  const codes = Object.values(exitCodes).join(", ");
  expect(page).toContain(`exit codes ${codes.replace(/, (\d+)$/, " and $1")}`);
  const outcomes = new Set(["answered", ...Object.values(failures).flatMap(({ outcomes }) => outcomes)]);
  expect([...outcomes].sort()).toEqual(["answered", "not_sent", "unknown"]);
  expect(page).toContain("`answered`, `not_sent` and `unknown`");
});

it("names the user of the image", () => {
  const [, user = ""] = /^USER (\d+):/m.exec(readFileSync("Dockerfile", "utf8")) ?? [];
  expect(page).toContain(`image: user ${user},`);
});
