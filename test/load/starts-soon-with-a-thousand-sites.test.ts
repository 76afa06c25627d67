/**
 * Row 71: a thousand sites, each with a secret of its own: 3 s of processor time from process start to listening. Processor time is
 * what a start costs, however busy the machine is.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Diagnostics } from "../../src/config/diagnostics.ts";
import { shareLabel } from "../../src/config/rules/credentials.ts";
import { checkUniqueness, uniqueKey } from "../../src/config/rules/uniqueness.ts";
import { Secret } from "../../src/model/secret.ts";
import { ConfigFolder } from "../../testkit/config-folder.ts";
import { cpuMsOf } from "../../testkit/cpu-time.ts";
import { freePort } from "../../testkit/free-port.ts";
import { siteAt, writeManySites } from "../../testkit/many-sites.ts";
import { processorSeconds } from "../../testkit/process-use.ts";
import { type Program, startServe } from "../../testkit/run-program.ts";

const sites = 1_000;
const isLinux = process.platform === "linux";

const isEvent = (event: string) => (line: string) => line.includes(`"event":"${event}"`);

/** The first line of an event that comes after this many others. */
function nth(program: Program, event: string, n: number): Promise<string> {
  let count = 0;
  return program.line((line) => {
    if (isEvent(event)(line)) count += 1;
    return count >= n;
  });
}

async function serve(withAuthorities: boolean) {
  const folder = new ConfigFolder();
  const file = writeManySites(folder, { sites, port: await freePort(), withAuthorities });
  return { file, program: await startServe(file) };
}

describe.runIf(isLinux)("with a thousand sites", () => {
  it("starts, shows itself and reloads within seconds", async () => {
    const { program, file } = await serve(false);
    const { adminUrl, statusUrl } = program;
    const startSeconds = processorSeconds(program);
    expect((await fetch(`${adminUrl}/livez`)).status).toBe(200);
    const spent: Record<string, number> = { start: startSeconds };
    const measure = async (name: string, task: () => Promise<unknown>) => {
      const before = processorSeconds(program);
      await task();
      spent[name] = processorSeconds(program) - before;
    };
    await measure("page", async () => expect(await (await fetch(statusUrl)).text()).toContain(siteAt(sites - 1)));
    await measure("json", async () => expect(await (await fetch(`${statusUrl}/status`)).json()).toBeDefined());
    await measure("reload", async () => {
      writeFileSync(
        file,
        readFileSync(file, "utf8").replace("- create_order\n", "- create_order\n      - new_order\n"),
      );
      await program.line(isEvent("config_applied"));
    });
    process.stdout.write(`processor time in s with ${sites} sites: ${JSON.stringify(spent)}\n`);
    for (const seconds of Object.values(spent)) expect(seconds).toBeLessThan(10 * 3);
  });

  it("asks for all tokens in vain, with a system's authorities, at little cost", async () => {
    const { program } = await serve(true);
    await nth(program, "token_requested", sites / 2);
    const seconds = processorSeconds(program);
    process.stdout.write(`processor time in s until ${sites / 2} tokens were asked for: ${seconds}\n`);
    // Reading the authorities anew for each connection takes 20 s and more.
    expect(seconds).toBeLessThan(12);
  });
});

/** The least of several times: whatever else goes on only adds. */
function leastMs(task: () => void): number {
  return Math.min(...Array.from({ length: 5 }, () => cpuMsOf(task)));
}

/** Sixteen times as much takes sixteen times as long; 256 times as long, were each compared with all others. */
describe.each([
  [
    "comparing what must be unique",
    (count: number) => {
      const values = Array.from({ length: count }, (_, index) => {
        const key = uniqueKey("secret", new Secret(`a secret of its own ${index}`));
        return { kind: "secret", key, path: ["environments", "sandbox", index], environment: "sandbox" } as const;
      });
      const diagnostics = new Diagnostics(() => ({ line: 1, column: 1, found: undefined }));
      return () => checkUniqueness(values, diagnostics);
    },
  ],
  [
    "finding the sites of one client",
    (count: number) => {
      const sets = Array.from({ length: count }, (_, index) => {
        const clientSecret = new Secret(`a secret of its own ${index}`);
        return { label: siteAt(index), name: "blue", clientId: `c${index}`, clientSecret, audience: "a" };
      });
      return () => {
        const labels = new Map<string, string>();
        for (const set of sets) shareLabel(set, labels);
      };
    },
  ],
])("%s", (_, prepare) => {
  it("takes as long as there are sites", () => {
    const [few, many] = [prepare(500), prepare(8_000)];
    expect(leastMs(many) / leastMs(few)).toBeLessThan(128);
  });
});
