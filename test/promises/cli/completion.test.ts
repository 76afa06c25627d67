/** The script for a shell completes commands and options, as a real bash runs it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { runCommand, runSync } from "../../../testkit/run-program.ts";

it.each([
  ["a command", ["doc"], ["doctor"]],
  ["an option of the command", ["check", "--j"], ["--json"]],
  ["every command", [""], expect.arrayContaining(["serve", "check", "completion", "demo"])],
  ["no option of another command", ["keygen", "--config"], [""]],
  ["the values of an option", ["doctor", "--auth", ""], ["oauth", "hmac"]],
  ["the values of another option", ["preview", "--json", "--callback", "f"], ["form"]],
  ["file names, and no option, after an option that takes a file", ["check", "--config", ""], [""]],
  ["the value of a command", ["completion", "z"], ["zsh"]],
  ["the command after help", ["help", "doc"], ["doctor"]],
  ["an option of the simulator", ["simulate", "--login"], ["--login-port"]],
])("bash completes %s", async (_, words, expected) => {
  const { stdout, exitCode } = await runCommand(["completion", "bash"]);
  expect(exitCode).toBe(0);
  const script = join(emptyFolder(), "completion.bash");
  const quoted = words.map((word) => `'${word}'`).join(" ");
  const ask = `COMP_WORDS=(countersign ${quoted}); COMP_CWORD=${words.length}; _countersign; echo "\${COMPREPLY[@]}"`;
  writeFileSync(script, `${stdout}\n${ask}\n`);
  expect(runSync("bash", [script]).stdout.trim().split(" ")).toEqual(expected);
});

it.runIf(runSync("zsh", ["--version"]).exitCode === 0)(
  "zsh completes the command's words, though nothing has started its completion before",
  async () => {
    const script = join(emptyFolder(), "completion.zsh");
    writeFileSync(script, `${(await runCommand(["completion", "zsh"])).stdout}\necho "$_comps[countersign]"\n`);
    expect(runSync("zsh", ["-f", "-i", script])).toMatchObject({
      stderr: "",
      stdout: "_bash_complete -o default -F _countersign\n",
    });
  },
);

it("fish gets the values too", async () => {
  const { stdout } = await runCommand(["completion", "fish"]);
  for (const [command, values] of [
    ["doctor", "-l auth -r -f -a 'oauth hmac'"],
    ["completion", "-f -a 'bash zsh fish'"],
    ["help", "-f -a 'serve check"],
    ["simulate", "-l login-port -r"],
  ]) {
    expect(stdout).toContain(`complete -c countersign -n '__fish_seen_subcommand_from ${command}' ${values}`);
  }
});

it.each(["zsh", "fish"])("there is a script for %s; an unknown shell is a wrong command line", async (shell) => {
  expect((await runCommand(["completion", shell])).stdout).toContain("countersign");
  expect(await runCommand(["completion", "csh"])).toMatchObject({ exitCode: 2, stdout: "" });
});
