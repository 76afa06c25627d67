/** docs/once.md is true: whoever types its commands sees what it says, on other ports. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { configSchema } from "../../src/config/schema.ts";
import { readDocument } from "../../src/config/yaml.ts";
import { ConfigWriter } from "../../testkit/config-writer.ts";
import { freePort } from "../../testkit/free-port.ts";
import { isInstalled, plainEnvironment, startProgram } from "../../testkit/run-program.ts";

const page = readFileSync("docs/once.md", "utf8");
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(([, text = ""]) => text);
const example = readFileSync("examples/once/countersign.yaml", "utf8");

it("shows a configuration that the schema takes, and that the example has", () => {
  const own = readDocument(example).value as object;
  const shown = readDocument(blocks("yaml")[0] ?? "").value as object;
  expect(configSchema.parse({ ...own, ...shown })).toEqual(configSchema.parse(own));
});

const canFollow = isInstalled("curl", "--version") && isInstalled("redis-server", "--version");
it.runIf(canFollow)(
  `${canFollow ? "" : "NOT TRIED, curl or redis-server is missing: "}its commands create an order, and only one`,
  // Another test may take a port between choosing and listening.
  { retry: 1 },
  async () => {
    const folder = new ConfigWriter("once-page");
    onTestFinished(() => folder.remove());
    const ports = new Map<string, number>();
    for (const port of ["6379", "7411", "7412", "7413", "7421"]) ports.set(port, await freePort());
    const elsewhere = (text: string) => text.replace(/\b(6379|74[12]\d)\b/g, (port) => String(ports.get(port)));
    mkdirSync(join(folder.path, "examples"));
    folder.write("examples/once/countersign.yaml", elsewhere(example));
    for (const name of ["dist", "simulator"]) symlinkSync(join(process.cwd(), name), join(folder.path, name));
    const run = (line: string) => spawnSync("sh", ["-ec", line], { cwd: folder.path, encoding: "utf8" }).stdout;
    const [setUp = "", order = ""] = blocks("sh").map(elsewhere);
    for (const line of setUp.trim().split("\n")) {
      if (!line.endsWith(" &")) {
        run(line);
        continue;
      }
      const command = `cd "${folder.path}" && exec ${line.slice(0, -" &".length)}`;
      const isReady = (text: string) => /ready to accept connections|"started"|simulator|7421|API/i.test(text);
      await startProgram("sh", ["-c", command], plainEnvironment()).line(isReady);
    }
    expect(JSON.parse(run(order))).not.toHaveProperty("code");
    const again = JSON.parse(run(order));
    const [shown = ""] = blocks("json");
    const { first, ...others } = JSON.parse(shown);
    expect(again).toMatchObject({ ...others, first: { outcome: first.outcome, status: first.status } });
    expect(Object.keys(again.first)).toEqual(Object.keys(first));
  },
);
