/** docs/egress.md is true: whoever types its commands sees what it says, on other ports. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { environmentSchema } from "../../src/config/environment-schema.ts";
import { readDocument } from "../../src/config/yaml.ts";
import { ConfigWriter } from "../../testkit/config-writer.ts";
import { freePort } from "../../testkit/free-port.ts";
import { isInstalled, type Program, plainEnvironment, startProgram } from "../../testkit/run-program.ts";

const page = readFileSync("docs/egress.md", "utf8");
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(([, text = ""]) => text);

it("shows ways out that the schema takes", () => {
  const shown = blocks("yaml").map((text) => readDocument(text).value as { environments: { sandbox: object } });
  expect(shown).toHaveLength(2);
  for (const { environments } of shown) {
    const rest = { baseUrl: "https://a", operations: ["a"], sites: {} };
    const { success } = environmentSchema.safeParse({ ...rest, ...environments.sandbox });
    expect(success).toBe(true);
  }
});

const canFollow = isInstalled("curl", "--version");
it.runIf(canFollow)(
  `${canFollow ? "" : "NOT TRIED, curl is missing: "}its commands send an order through a proxy, and doctor tells what is wrong`,
  async () => {
    const folder = new ConfigWriter("egress-page");
    onTestFinished(() => folder.remove());
    const ports = new Map<string, number>();
    for (const port of ["7411", "7412", "7413", "7421", "7422", "3128"]) ports.set(port, await freePort());
    const elsewhere = (text: string) => text.replace(/\b(741[1-3]|742[12]|3128)\b/g, (port) => String(ports.get(port)));
    mkdirSync(join(folder.path, "examples"));
    for (const name of readdirSync("examples/egress")) {
      folder.write(`examples/egress/${name}`, elsewhere(readFileSync(join("examples/egress", name), "utf8")));
    }
    for (const built of ["dist", "simulator", "node_modules"]) {
      symlinkSync(join(process.cwd(), built), join(folder.path, built));
    }
    const run = (line: string) => {
      const options = { cwd: folder.path, env: { ...plainEnvironment(), PWD: folder.path }, encoding: "utf8" } as const;
      return spawnSync("sh", ["-ec", line], options);
    };
    const [setUp = "", order = "", doctor = "", change = ""] = blocks("sh").map(elsewhere);
    const started: Program[] = [];
    for (const line of setUp.trim().split("\n")) {
      if (!line.endsWith(" &")) {
        expect(run(line)).toMatchObject({ stderr: "", status: 0 });
        continue;
      }
      const program = startProgram(
        "sh",
        ["-c", `cd "${folder.path}" && exec ${line.slice(0, -2)}`],
        plainEnvironment(),
      );
      await program.line((text) => /listen|authUrl/.test(text));
      started.push(program);
    }
    expect(JSON.parse(run(order).stdout)).toHaveProperty("status", "ok");
    const [proxy, , serve] = started;
    for (const promised of page.match(/CONNECT \w+\.sandbox\.test:\d+ 200/g) ?? []) {
      await proxy?.line((line) => line === elsewhere(promised));
    }
    expect(run(doctor)).toMatchObject({ status: 0, stdout: expect.stringMatching(/through 127\.0\.0\.1:\d+: /) });
    expect(run(change).status).toBe(0);
    expect(run(doctor)).toMatchObject({ status: 1, stdout: expect.stringContaining("PROXY_STATUS_407") });
    await serve?.line((line) => line.includes('"event":"config_applied"'));
    expect(run(order).stdout).toContain("PROXY_STATUS_407");
  },
);
