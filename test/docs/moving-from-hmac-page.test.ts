/** Row 83: docs/moving-from-hmac.md is true: whoever types its commands sees what it says, on other ports. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ConfigWriter } from "../../testkit/config-writer.ts";
import { freePort } from "../../testkit/free-port.ts";
import { isInstalled, plainEnvironment, startProgram } from "../../testkit/run-program.ts";

const page = readFileSync("docs/moving-from-hmac.md", "utf8");
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(([, text = ""]) => text);

const canFollow = isInstalled("curl", "--version") && isInstalled("openssl", "version");
it.runIf(canFollow)(
  `${canFollow ? "" : "NOT TRIED, curl or openssl is missing: "}its commands create two orders and tell their signatures apart`,
  // Another test may take a port between choosing and listening.
  { retry: 1 },
  async () => {
    const folder = new ConfigWriter("moving-page");
    onTestFinished(() => folder.remove());
    const ports = new Map<string, number>();
    for (const port of ["7411", "7412", "7413", "7421", "7422"]) ports.set(port, await freePort());
    const elsewhere = (text: string) => text.replace(/\b74[12]\d\b/g, (port) => String(ports.get(port)));
    mkdirSync(join(folder.path, "examples"));
    for (const name of ["countersign.yaml", "signed-order.sh"]) {
      const file = `examples/moving-from-hmac/${name}`;
      folder.write(file, elsewhere(readFileSync(file, "utf8")), 0o700);
    }
    for (const name of ["dist", "simulator"]) symlinkSync(join(process.cwd(), name), join(folder.path, name));
    const run = (line: string, input = "") =>
      spawnSync("sh", ["-ec", line], { cwd: folder.path, encoding: "utf8", input });
    const [setUp = "", orders = "", look = ""] = blocks("sh").map(elsewhere);
    for (const line of setUp.trim().split("\n")) {
      if (!line.endsWith(" &")) {
        run(line);
        continue;
      }
      const command = `cd "${folder.path}" && exec ${line.slice(0, -" &".length)}`;
      const isReady = (text: string) => /"started"|API/i.test(text);
      await startProgram("sh", ["-c", command], plainEnvironment()).line(isReady);
    }
    expect(run(orders).stdout).toBe("200\n200\n");
    const [, shown = ""] = /```\n(countersign_[\s\S]*?)```/.exec(page) ?? [];
    const sorted = (text: string) => text.trim().split("\n").sort();
    expect(sorted(run(look).stdout)).toEqual(sorted(shown));

    const body = '{"version":"3.0","site_identifier":"S1000000003","timestamp":"1700000000","signature":"wrong"}';
    const { stderr } = run("node dist/main.js preview --config countersign.yaml", body);
    expect(stderr).toContain("The caller's own signature, which is dropped: invalid.\n");
  },
);
