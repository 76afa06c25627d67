/** docs/callbacks.md is true: whoever types its commands sees what it says, on other ports. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { configSchema } from "../../src/config/schema.ts";
import { readDocument, toYaml } from "../../src/config/yaml.ts";
import { ConfigWriter } from "../../testkit/config-writer.ts";
import { freePort } from "../../testkit/free-port.ts";
import { isInstalled, plainEnvironment, startProgram } from "../../testkit/run-program.ts";

const page = readFileSync("docs/callbacks.md", "utf8");
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(([, text = ""]) => text);
const example = readFileSync("examples/callbacks/countersign.yaml", "utf8");

it("shows a configuration that the schema takes, and that the example has", () => {
  const [shown = ""] = blocks("yaml");
  const own = readDocument(example).value as { readonly callbacks: readonly object[] };
  const whole = { ...own, ...(readDocument(shown).value as object) };
  for (const config of [own, whole]) {
    expect(configSchema.safeParse(readDocument(toYaml(config)).value).error?.issues ?? []).toEqual([]);
  }
  const { callbacks } = configSchema.parse(readDocument(toYaml(whole)).value);
  expect(callbacks).toEqual(configSchema.parse(readDocument(example).value).callbacks);
});

const canFollow = isInstalled("curl", "--version") && isInstalled("openssl", "version");
it.runIf(canFollow)(
  `${canFollow ? "" : "NOT TRIED, curl or openssl is missing: "}its commands send a genuine and a forged callback`,
  async () => {
    const folder = new ConfigWriter("callbacks-page");
    onTestFinished(() => folder.remove());
    const ports = new Map<string, number>();
    for (const port of ["7411", "7412", "7413", "7414", "8080"]) ports.set(port, await freePort());
    const elsewhere = (text: string) => text.replace(/\b(741[1-4]|8080)\b/g, (port) => String(ports.get(port)));
    mkdirSync(join(folder.path, "examples"));
    for (const name of readdirSync("examples/callbacks")) {
      const text = readFileSync(join("examples/callbacks", name), "utf8");
      folder.write(`examples/callbacks/${name}`, elsewhere(text), 0o700);
    }
    symlinkSync(join(process.cwd(), "dist"), join(folder.path, "dist"));
    const run = (line: string) => {
      const options = { cwd: folder.path, env: { ...plainEnvironment(), PWD: folder.path }, encoding: "utf8" } as const;
      const { stdout, stderr, status } = spawnSync("sh", ["-ec", line], options);
      expect({ line, stderr, status }).toEqual({ line, stderr: "", status: 0 });
      return stdout;
    };
    const [setUp = "", genuine = "", forged = ""] = blocks("sh").map(elsewhere);
    for (const line of setUp.trim().split("\n")) {
      if (!line.endsWith(" &")) {
        run(line);
        continue;
      }
      const command = `cd "${folder.path}" && exec ${line.slice(0, -" &".length)}`;
      await startProgram("sh", ["-c", command], plainEnvironment()).line((text) => text.includes("listening"));
    }
    expect(run(genuine)).toBe("OK\n200\n");
    expect(run(forged)).toMatch(/"code":"callback_not_genuine".*\n?401\n$/);
  },
);
