/** Each command's help has an example, which works as it stands. */
import { chmodSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";
import { createCommands } from "../../../src/cli/program.ts";
import { ConfigFolder, canaries } from "../../../testkit/config-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { plainEnvironment, startProgram } from "../../../testkit/run-program.ts";

const others = ["doctor", "order", "completion"];

it("every example of a command's help works", { timeout: 300_000 }, async () => {
  const { start, run, write } = await stage();
  const examples = new Map<string, string>();
  for (const command of await createCommands()) {
    let help = "";
    const writeOut = (text: string) => {
      help += text;
    };
    command.configureOutput({ writeOut }).outputHelp();
    const [, example = "none"] = /\nFor example:\n {2}(.*)\n/.exec(help) ?? [];
    // Those of the others begin with kubectl, or are for a file of the shell.
    if (others.some((name) => name === command.name())) expect(help).toMatch(`countersign ${command.name()}`);
    else examples.set(command.name(), example);
  }

  const exampleOf = (command: string) => examples.get(command) ?? "";
  await start(exampleOf("simulate")).line((line) => line === "Ctrl-C ends it.");
  await start(exampleOf("serve")).nth("started", 1);
  const said = await run(exampleOf("sign"));
  write("parameters.json", JSON.stringify({ event: "paid", signature: JSON.parse(said).signature }));
  const ran = ["simulate", "serve", "sign"];
  const left = [...examples].filter(([command]) => !ran.includes(command));
  await Promise.all(left.map(([, example]) => run(example)));
});

/** A folder with a configuration and a command `countersign`, where examples are run. */
async function stage() {
  const folder = new ConfigFolder();
  const [api, login, admin] = [await freePort(), await freePort(), await freePort()];
  folder.writeYaml(`listeners: [ { bind: "127.0.0.1:0", environment: sandbox } ]
admin: { bind: "127.0.0.1:${admin}" }
readiness: token
environments:
  sandbox:
    baseUrl: http://127.0.0.1:${api}/json-api
    authUrl: http://127.0.0.1:${login}
    allowPlaintext: true
    operations: [create_order]
    sites: { S1: { credentials: [ { name: blue, dir: DIR/blue } ] } }
`);
  folder.write("secrets/key", canaries.key);
  folder.write("parameters.json", '{"event":"paid"}');
  chmodSync(
    folder.write("bin/countersign", `#!/bin/sh\nexec ${process.execPath} ${resolve("dist/main.js")} "$@"\n`),
    0o755,
  );
  const start = (line: string) => {
    const words = `cd ${folder.path} && ${line.startsWith("countersign ") ? "exec " : ""}${line}`;
    return startProgram("bash", ["-c", words], plainEnvironment({ PATH: `${folder.path}/bin:${process.env["PATH"]}` }));
  };
  return {
    start,
    write: (name: string, text: string) => folder.write(name, text),
    async run(line: string) {
      const program = start(line);
      expect(await program.ended, `${line}\n${program.stdout()}${program.stderr()}`).toBe(0);
      return program.stdout();
    },
  };
}
