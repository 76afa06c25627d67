/** An option is never ignored in silence, and every failure names options of the command line, not headers of a request. */
import { resolve } from "node:path";
import { expect, it } from "vitest";
import { ConfigFolder, edited } from "../../../testkit/config-folder.ts";
import { plainEnvironment, runSync } from "../../../testkit/run-program.ts";

it.each([
  [["doctor", "--operation", "create_order"], "--operation goes with --send.\n"],
  [["doctor", "--environment", "prod"], "--environment goes with --send.\n"],
  [["doctor", "--auth", "hmac"], "--auth goes with --send.\n"],
  [["doctor", "--site", "S1"], "--site goes with --send.\n"],
  [["preview", "--listener", "127.0.0.1:7414"], "--listener goes with --callback.\n"],
  [
    ["preview", "--callback", "json", "--operation", "a"],
    "option '--callback <form>' cannot be used with option '--operation <name>'",
  ],
  [["order", "--reference", "cart-1", "--site", "S1"], "--site goes with --key.\n"],
  [["order", "--reference", "cart-1", "--environment", "sandbox"], "--environment goes with --key.\n"],
  [["simulate", "--environment", "sandbox"], "--environment goes with --config.\n"],
] as const)("%j: an option without the one that it needs is a wrong command line", (args, says) => {
  expect(run(args)).toEqual({ exitCode: 2, stdout: "", stderr: expect.stringContaining(says) });
});

it.each([["doctor", "--send", "{}", "--operation", "create_order"], ["preview"], ["order", "--key", "key-1"]])(
  "%s: an environment that does not exist is named, with those that do",
  (...args) => {
    const { exitCode, stderr } = run([...args, "--environment", "prod"]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: "There is no environment prod. Name the environment with --environment: sandbox.\n",
    });
  },
);

it.each([
  [["preview"], "name one with --site. Sites that can be used here: "],
  [["preview", "--site", "S9"], "The site or key in --site, S9, is not configured in environment sandbox"],
  [["order", "--key", "key-1"], "name one with --site. Sites that can be used here: "],
  [["order", "--key", "key-1", "--site", "S9"], "The site or key in --site, S9, is not configured"],
  [["order", "--key", "a b"], "--key must be 1 to 255 visible ASCII characters.\n"],
  [["preview", "--auth", "basic"], "Allowed choices are oauth, hmac."],
  [["doctor", "--send", "{}", "--operation", "create_order", "--auth", "basic"], "Allowed choices are oauth, hmac."],
] as const)("%j: the failure names the option", (args, says) => {
  const { stdout, stderr } = run(args, edited(["    defaultSite: S1000000001\n", ""]));
  expect(stdout + stderr).toContain(says);
  expect(stdout + stderr).not.toMatch(/Countersign-/);
});

it.each([
  [["--site", "S9"], "--site S9"],
  [["--environment", "prod"], "--environment prod"],
  [["--environment", "sandbox", "--site", "S9"], "--environment sandbox --site S9"],
])("token %j: the failure names what was given", (args, given) => {
  const { exitCode, stderr } = run(["token", ...args]);
  const there = "Configured: --environment sandbox --site S1000000001.";
  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: `No credential set matches ${given}. ${there}\n` });
});

/** Runs a command in a folder that has a countersign.yaml. */
function run(args: readonly string[], yaml = edited()) {
  const folder = new ConfigFolder();
  folder.writeYaml(yaml);
  return runSync(process.execPath, [resolve("dist/main.js"), ...args], {
    cwd: folder.path,
    env: plainEnvironment(),
    input: "{}",
  });
}
