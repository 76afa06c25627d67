/** On a terminal, a command that reads standard input says what it waits for, on standard error: with a real terminal. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ConfigFolder, sound } from "../../../testkit/config-folder.ts";
import { isInstalled, plainEnvironment } from "../../../testkit/run-program.ts";

const hasPython = isInstalled("python3", "-c", "import pty");
const spawnInTerminal = "import os,pty,sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

/** The command in a pseudo-terminal; its standard error goes to a file, so that it can be told from the echo. */
function inTerminal(folder: ConfigFolder, args: readonly string[]): { child: ChildProcess; stderr: () => string } {
  const file = folder.write("stderr", "");
  const command = 'exec "$0" "$@" 2>"$STDERR"';
  const shell = ["/bin/sh", "-c", command, process.execPath, "dist/main.js", ...args];
  const env = plainEnvironment({ STDERR: file });
  const child = spawn("python3", ["-c", spawnInTerminal, ...shell], { env, stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, stderr: () => readFileSync(file, "utf8") };
}

const parameters = '{"version":"3.0","order_amount":"10.00"}';

it.skipIf(!hasPython).each([
  {
    command: "sign",
    awaited: "the string parameters, a JSON object,",
    output: /"stringToSign":"order_amount10\.00version3\.0"/,
  },
  { command: "verify", awaited: "the string parameters, a JSON object,", output: /There is no parameter signature\./ },
  {
    command: "preview",
    awaited: "the body of a request, a JSON object,",
    output: /POST https:\/\/api\.sandbox\.example/,
  },
])("$command says what it waits for, and takes what is typed", async ({ command, awaited, output }) => {
  const folder = new ConfigFolder();
  const config = folder.write("countersign.yaml", sound.replaceAll("DIR", folder.path));
  const options = command === "preview" ? ["--config", config] : ["--key-file", join(folder.path, "k1")];
  const { child, stderr } = inTerminal(folder, [command, ...options]);
  let shown = "";
  child.stdout?.on("data", (text) => {
    shown += text;
  });
  const told = `Waiting for ${awaited} on standard input. Ctrl-D on a new line ends it.\n`;
  await expect.poll(stderr, { timeout: 20_000 }).toBe(told);
  child.stdin?.write(`${parameters}\n\u0004`);
  await once(child, "close");
  expect(shown).toMatch(output);
  expect(stderr()).toBe(told);
});
