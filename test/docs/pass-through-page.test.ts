/** docs/pass-through.md is true: whoever types its commands sees what it says, on other ports. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { configSchema } from "../../src/config/schema.ts";
import { readDocument, toYaml } from "../../src/config/yaml.ts";
import { ConfigWriter } from "../../testkit/config-writer.ts";
import { freePort } from "../../testkit/free-port.ts";
import { isInstalled, plainEnvironment, startProgram } from "../../testkit/run-program.ts";

const page = readFileSync("docs/pass-through.md", "utf8");
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(([, text = ""]) => text);
const example = readFileSync("examples/pass-through/countersign.yaml", "utf8");

it("shows routes that the schema takes, the first of which the example has", () => {
  const [shown = ""] = blocks("yaml");
  const own = readDocument(example).value as { readonly environments: { readonly sandbox: object } };
  const { passThrough } = readDocument(shown).value as { readonly passThrough: readonly object[] };
  const whole = { ...own, environments: { sandbox: { ...own.environments.sandbox, passThrough } } };
  expect(configSchema.safeParse(readDocument(toYaml(whole)).value).error?.issues ?? []).toEqual([]);
  expect(own.environments.sandbox).toMatchObject({ passThrough: passThrough.slice(0, 1) });
});

const canFollow = isInstalled("curl", "--version");
it.runIf(canFollow)(
  `${canFollow ? "" : "NOT TRIED, curl is missing: "}its commands pass files and events, and are refused where it says so`,
  async () => {
    const folder = new ConfigWriter("pass-through-page");
    onTestFinished(() => folder.remove());
    const ports = new Map<string, number>();
    for (const port of ["7411", "7412", "7413", "7421", "7422"]) ports.set(port, await freePort());
    const elsewhere = (text: string) => text.replace(/\b74(?:1[1-3]|2[12])\b/g, (port) => String(ports.get(port)));
    mkdirSync(join(folder.path, "examples"));
    for (const name of readdirSync("examples/pass-through")) {
      const text = readFileSync(join("examples/pass-through", name), "utf8");
      folder.write(`examples/pass-through/${name}`, elsewhere(text));
    }
    folder.write("README.md", readFileSync("README.md"));
    symlinkSync(join(process.cwd(), "dist"), join(folder.path, "dist"));
    const run = (line: string) => {
      const options = { cwd: folder.path, env: { ...plainEnvironment(), PWD: folder.path }, encoding: "utf8" } as const;
      const { stdout, status } = spawnSync("sh", ["-ec", line], options);
      expect({ line, status }).toEqual({ line, status: 0 });
      return stdout;
    };
    const [setUp = "", files = "", events = "", refused = ""] = blocks("sh").map(elsewhere);
    for (const line of setUp.trim().split("\n")) {
      if (!line.endsWith(" &")) {
        run(line);
        continue;
      }
      const command = `cd "${folder.path}" && exec ${line.slice(0, -" &".length)}`;
      const isUp = (text: string) => text === "listening" || text.includes('"event":"started"');
      await startProgram("sh", ["-c", command], plainEnvironment()).line(isUp);
    }
    expect(run(files)).toBe("the same\n");
    expect(run(events)).toMatch(/^data: there are 1 files\n\n/);
    const answers = run(refused).split("}{");
    expect(answers[0]).toMatch(/"code":"method_not_allowed"/);
    expect(answers[1]).toMatch(/"code":"target_not_allowed"/);
  },
);
