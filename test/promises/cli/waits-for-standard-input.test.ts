/** On a terminal, a command that reads standard input says what it waits for, on standard error: with a real terminal. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ConfigFolder, sound } from "../../../testkit/config-folder.ts";
import { hasTerminals, startOnTerminal } from "../../../testkit/terminal.ts";

/** The command's standard error goes to a file, so that the terminal's echo does not mix with it. */
const command = ["/bin/sh", "-c", 'exec "$0" "$@" 2>"$STDERR"', process.execPath, "dist/main.js"];
const parameters = '{"version":"3.0","order_amount":"10.00"}';

it.runIf(hasTerminals).each([
  ["sign", "the string parameters, a JSON object,", /"stringToSign":"order_amount10\.00version3\.0"/],
  ["verify", "the string parameters, a JSON object,", /There is no parameter signature\./],
  ["preview", "the body of a request, a JSON object,", /POST https:\/\/api\.sandbox\.example/],
])("%s says what it waits for, and reads the typed input", async (name, awaited, output) => {
  const folder = new ConfigFolder();
  const config = folder.writeYaml(sound);
  const options = name === "preview" ? ["--config", config] : ["--key-file", join(folder.path, "k1")];
  const file = folder.write("stderr", "");
  const terminal = startOnTerminal([...command, name, ...options], { STDERR: file });
  const told = `Waiting for ${awaited} on standard input. Ctrl-D on a new line ends it.\n`;
  await expect.poll(() => readFileSync(file, "utf8"), { timeout: 20_000 }).toBe(told);
  terminal.press(`${parameters}\n\u0004`);
  await terminal.ended;
  expect(terminal.shown()).toMatch(output);
  expect(readFileSync(file, "utf8")).toBe(told);
});
