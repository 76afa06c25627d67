/** docs/callers.md is true: whoever types its commands sees what it says, on other ports. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { readDocument } from "../../src/config/yaml.ts";
import { ConfigWriter } from "../../testkit/config-writer.ts";
import { freePort } from "../../testkit/free-port.ts";
import { isInstalled, plainEnvironment, startProgram } from "../../testkit/run-program.ts";

const page = readFileSync("docs/callers.md", "utf8");
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(([, text = ""]) => text);
const example = readFileSync("examples/callers/countersign.yaml", "utf8");

it("shows the listeners of the example", () => {
  const [shown = ""] = blocks("yaml");
  expect(readDocument(example).value).toMatchObject(readDocument(shown).value as object);
});

const canFollow = isInstalled("curl", "--json", "{}", "--version") && isInstalled("openssl", "version");
it.runIf(canFollow)(
  `${canFollow ? "" : "NOT TRIED, curl or openssl is missing: "}its commands are answered as it says`,
  async () => {
    const folder = new ConfigWriter("callers-page");
    onTestFinished(() => folder.remove());
    const ports = new Map<string, number>();
    for (const port of ["7411", "7412", "7413", "7415", "7421"]) ports.set(port, await freePort());
    const elsewhere = (text: string) => text.replace(/\b(741[1235]|7421)\b/g, (port) => String(ports.get(port)));
    mkdirSync(join(folder.path, "examples/callers"), { recursive: true });
    folder.write("examples/callers/countersign.yaml", elsewhere(example));
    const script = "examples/callers/make-credentials.sh";
    copyFileSync(script, join(folder.path, script));
    for (const name of ["dist", "simulator", "node_modules"])
      symlinkSync(join(process.cwd(), name), join(folder.path, name));
    const run = (line: string) => {
      const options = { cwd: folder.path, env: plainEnvironment(), encoding: "utf8" } as const;
      const { stdout, stderr, status } = spawnSync("sh", ["-ec", line], options);
      expect({ line, stderr, status }).toEqual({ line, stderr: "", status: 0 });
      return stdout;
    };
    const [setUp = "", ...calls] = blocks("sh").map(elsewhere);
    for (const line of setUp.trim().split("\n")) {
      if (!line.endsWith(" &")) {
        run(line);
        continue;
      }
      // The page does not name the port that nobody calls there.
      const further = line.includes(" simulate ") ? `--login-port ${await freePort()}` : "";
      const command = `cd "${folder.path}" && exec ${line.slice(0, -" &".length)} ${further}`;
      await startProgram("sh", ["-c", command], plainEnvironment()).line((text) => /listening|started|127/.test(text));
    }
    const answers = calls.map(run).map((text) => [/"code":"(\w+)"/.exec(text)?.[1], text.slice(-4, -1)]);
    expect(answers).toEqual([
      [undefined, "200"],
      ["caller_not_allowed", "403"],
      [undefined, "200"],
      ["caller_not_known", "403"],
    ]);
  },
);
