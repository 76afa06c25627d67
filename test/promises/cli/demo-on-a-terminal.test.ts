import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { scenes } from "../../../simulator/src/demo/scenes.ts";
import { folderOf, secrets, slowly } from "../../../testkit/demo-run.ts";
import { nameFor } from "../../../testkit/run-program.ts";
import { hasTerminals, startOnTerminal } from "../../../testkit/terminal.ts";

// A person at a real terminal: first the processes and their addresses, then a scene for each Enter; a key ends the demo at any
// time. The first lines are due within 2 s. A busy machine cannot show that, so the test shows that nothing is built before them.

const demo = [process.execPath, "simulator/dist/main.js", "demo"];
const lastPrompt = "Enter: what you can try";

describe.runIf(hasTerminals)(nameFor(hasTerminals, "python3", "on a terminal"), () => {
  it("does not build again, shows the processes and their addresses on one screen, and waits", async () => {
    const begun = performance.now();
    const terminal = startOnTerminal(["npm", "run", "--silent", "demo"]);
    await terminal.awaitText("a demonstration");
    // It takes one second; this is for the slowest of machines.
    expect(performance.now() - begun).toBeLessThan(20_000);
    await terminal.awaitText("Enter: scene 1 of 7");
    const screen = terminal.shown().slice(terminal.shown().indexOf("Countersign"));
    const lines = screen.split("\n");
    expect(terminal.shown()).not.toContain("building…");
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    for (const { title } of scenes) expect(screen).toContain(title);
    expect(titles(screen)).toEqual([]);
    const [, page = ""] = /^ {3}status page +(\S+)/m.exec(screen) ?? [];
    expect((await fetch(page)).headers.get("content-type")).toMatch(/^text\/html/);
    // Ctrl-C, which npm does not see, so npm reports no failure.
    terminal.press("\x03");
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toContain("scenes            0 of 7 ok, 7 not shown\n");
    expect(existsSync(folderOf(terminal.shown()))).toBe(false);
  });

  it("shows one scene for each Enter, then commands to try; q ends the demo and restores the terminal", async () => {
    const terminal = startOnTerminal(["sh", "-c", `"${demo.join('" "')}"; echo "status $?"; stty -a`]);
    for (const number of scenes.keys()) {
      await terminal.awaitText(`Enter: scene ${number + 1} of 7`);
      expect(titles(terminal.shown())).toHaveLength(number);
      // Enter in either mode of the terminal, and other keys, which have no effect.
      terminal.press(number % 2 === 0 ? "\r" : "x \n");
    }
    await terminal.awaitText(lastPrompt);
    expect(titles(terminal.shown())).toHaveLength(7);
    expect(terminal.shown()).not.toContain("Now you");
    terminal.press("\r");
    await terminal.awaitText("Ctrl-C ends it");
    expect(terminal.shown()).toContain("scenes            7 of 7 ok\n");
    terminal.press("q");
    expect(await terminal.ended).toBe(0);
    const text = terminal.shown();
    expect(text).toContain("status 0\n");
    expect(text).toMatch(/(?<!-)\bicanon\b/);
    expect(text).toMatch(/(?<!-)\becho\b;? echoe\b/);
    expect(
      text
        .replace(/^ {3}configured in.*$/m, "")
        .split("\n")
        .filter((line) => line.length > 80),
    ).toEqual([]);
    for (const secret of secrets) expect(text).not.toMatch(secret);
  });

  it("accepts keys that were pressed too early; the key a shows all scenes that are left", async () => {
    const terminal = startOnTerminal(demo);
    terminal.press("\n\n");
    await terminal.awaitText("Enter: scene 3 of 7");
    expect(titles(terminal.shown())).toHaveLength(2);
    terminal.press("a");
    await terminal.awaitText("Ctrl-C ends it");
    expect(titles(terminal.shown())).toHaveLength(7);
    expect(terminal.shown()).not.toMatch(/scene 4 of 7|what you can try/);
    terminal.press("\x03");
    expect(await terminal.ended).toBe(0);
  });

  it.each([
    { key: "q", keys: "q" },
    { key: "Ctrl-D", keys: "\x04" },
    { key: "Ctrl-C", keys: "\x03" },
  ])("ends at once, even in the middle of a scene, on $key", async ({ keys }) => {
    const terminal = startOnTerminal(demo, { NO_COLOR: "1", NODE_OPTIONS: slowly });
    await terminal.awaitText("Enter: scene 1 of 7");
    terminal.press("\r\r\r\r\r");
    await terminal.awaitText("Enter: scene 5 of 7");
    await terminal.awaitText("\n\n");
    terminal.press(keys);
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toContain("scenes            4 of 7 ok, 3 not shown\n");
    expect(existsSync(folderOf(terminal.shown()))).toBe(false);
  });

  it("ends, and leaves nothing, when the terminal is closed", async () => {
    const terminal = startOnTerminal(demo);
    await terminal.awaitText("Enter: scene 1 of 7");
    terminal.press("\r");
    await terminal.awaitText("Enter: scene 2 of 7");
    terminal.hangUp();
    expect(await terminal.ended).toBe(129);
    expect(existsSync(folderOf(terminal.shown()))).toBe(false);
  });

  it("waits for no key if standard input has ended", async () => {
    const terminal = startOnTerminal(["sh", "-c", `"${demo.join('" "')}" </dev/null`]);
    await terminal.awaitText("Ctrl-C ends it");
    expect(titles(terminal.shown())).toHaveLength(7);
    expect(terminal.shown()).not.toContain("Enter:");
    terminal.press("\x03");
    await terminal.ended;
    expect(existsSync(folderOf(terminal.shown()))).toBe(false);
  });
});

/** Titles of the scenes that were shown. */
function titles(text: string): string[] {
  return text.split("\n").filter((line) => /^\d {2}\S.* ok$/.test(line));
}
