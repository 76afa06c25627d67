/** docs/tracing.md is true: whoever types its commands sees what it says, on other ports. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { configSchema } from "../../src/config/schema.ts";
import { readDocument, toYaml } from "../../src/config/yaml.ts";
import { passedUpstream } from "../../src/proxy/enrich.ts";
import { ConfigWriter } from "../../testkit/config-writer.ts";
import { freePort } from "../../testkit/free-port.ts";
import { isInstalled, plainEnvironment, startProgram } from "../../testkit/run-program.ts";

const page = readFileSync("docs/tracing.md", "utf8");
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(([, text = ""]) => text);
const example = readFileSync("examples/tracing/countersign.yaml", "utf8");

it("shows a section that the schema takes, and that the example has", () => {
  const [shown = ""] = blocks("yaml");
  const own = readDocument(example).value as object;
  const whole = { ...own, ...(readDocument(shown).value as object) };
  const read = (config: object) => configSchema.parse(readDocument(toYaml(config)).value).tracing;
  expect(read(whole)).toEqual(read(own));
  expect(read(own)).toBeDefined();
});

it("lists the headers that pass to the service, all of them", () => {
  const [, section = ""] = /## Headers that pass\n([\s\S]*?)\n## /.exec(page) ?? [];
  const listed = [...section.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name);
  expect(listed).toEqual([...passedUpstream].sort((a, b) => order(a) - order(b)));
  function order(name: string): number {
    return listed.indexOf(name);
  }
});

const hasCurl = isInstalled("curl", "--version");
it.runIf(hasCurl)(
  `${hasCurl ? "" : "NOT TRIED, curl is missing: "}its commands print an order below its caller, and the attempt below the order`,
  async () => {
    const folder = new ConfigWriter("tracing-page");
    onTestFinished(() => folder.remove());
    const ports = new Map<string, number>();
    for (const port of ["7411", "7412", "7413", "7421", "7422", "4318"]) ports.set(port, await freePort());
    const elsewhere = (text: string) => text.replace(/\b(741[1-3]|742[12]|4318)\b/g, (port) => String(ports.get(port)));
    mkdirSync(join(folder.path, "simulator"));
    for (const name of readdirSync("examples/tracing")) {
      const text = readFileSync(join("examples/tracing", name), "utf8");
      folder.write(`examples/tracing/${name}`, elsewhere(text), 0o700);
    }
    for (const built of ["dist", "simulator/dist", "node_modules"]) {
      symlinkSync(join(process.cwd(), built), join(folder.path, built));
    }
    const start = (line: string) =>
      startProgram("sh", ["-ec", `cd "${folder.path}" && PWD="${folder.path}" && exec ${line}`], plainEnvironment());
    const [setUp = "", order = ""] = blocks("sh").map(elsewhere);
    const programs = [];
    for (const line of setUp.trim().split("\n")) {
      if (!line.endsWith(" &")) {
        const { ended } = startProgram("sh", ["-ec", `cd "${folder.path}" && ${line}`], plainEnvironment());
        expect(await ended).toBe(0);
        continue;
      }
      const program = start(line.slice(0, -" &".length));
      programs.push(program);
      await program.line((text) => /listening|"event":"started"|7421|http:\/\/127/.test(text));
    }
    expect(await start(order.trim()).ended).toBe(0);
    const [collector] = programs;
    const trace = "trace 4bf92f3577b34da6a3ce929d0e0e4736";
    const own = await collector?.line((text) => text.startsWith(`${trace} server POST /create_order`));
    const [, spanId = ""] = /create_order (\w{16}) below 00f067aa0ba902b7 /.exec(own ?? "") ?? [];
    expect(spanId).not.toBe("");
    await collector?.line((text) => text.startsWith(`${trace} client POST`) && text.includes(` below ${spanId} `));
  },
);
