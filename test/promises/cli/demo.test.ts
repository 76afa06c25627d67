import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { scenes } from "../../../simulator/src/demo/scenes.ts";
import { call } from "../../../testkit/call.ts";
import { folderOf, isOpen, preload, secrets, slowly, startDemo } from "../../../testkit/demo-run.ts";
import { isInstalled, nameFor, plainEnvironment, startProgram } from "../../../testkit/run-program.ts";

// The acceptance test of `npm run demo`: it shows its scenes without input, with exact counts, and leaves no trace; its
// exit code is right. The command is the built one (build-once.ts).

it("shows seven scenes, all as they should be, and ends by itself", async () => {
  const demo = startDemo(["--once"]);
  expect(await demo.ended).toBe(0);
  const text = demo.stdout();
  expect(demo.stderr()).toBe("");
  const titles = text.split("\n").filter((line) => /^\d {2}\S/.test(line));
  const expected = scenes.map(({ title }, index) => `${index + 1}  ${title} ok`);
  expect(titles.map((line) => line.replace(/ +ok$/, " ok"))).toEqual(expected);
  expect(new Set(titles.map((line) => line.length))).toEqual(new Set([80]));
  expect(text).toContain("the service saw   7 requests, 6 orders created, 1 answer lost on the way\n");
  expect(text).toContain("tokens issued     3, for 3 token requests\n");
  expect(text).toContain("401 answers       1\n");
  expect(text).toContain("scenes            7 of 7 ok\n");
  expect(
    text.match(/^ {3}took +(\d+\.\d|under 0\.1) ms, of which Countersign (\d+\.\d|under 0\.1) ms$/gm),
  ).toHaveLength(7);
  expect(text).toContain("+ authorization:            Bearer •••• (token no. 1)\n");
  expect(text).toContain('~ order_amount              "10.00"\n');
  const fixed = text.replace(/^ {3}configured in.*$/m, "");
  expect(fixed.split("\n").filter((line) => line.length > 80)).toEqual([]);
  for (const secret of secrets) expect(text).not.toMatch(secret);
  expect(existsSync(folderOf(text))).toBe(false);
});

it("gives programs the same as JSON, with exact counts for each scene", async () => {
  const demo = startDemo(["--once", "--json"]);
  expect(await demo.ended).toBe(0);
  const text = demo.stdout();
  for (const secret of secrets) expect(text).not.toMatch(secret);
  const result = JSON.parse(text);
  expect(result.ok).toBe(true);
  expect(result.sum).toEqual({
    seen: 7,
    created: 6,
    unauthorized: 1,
    refused: 0,
    cut: 1,
    tokenRequests: 3,
    tokensIssued: 3,
  });
  const { scenes: played } = result;
  const each = (name: string) => played.map((scene: { facts: Record<string, unknown> }) => scene.facts[name]);
  expect(each("status")).toEqual([200, 200, 200, 200, 200, 422, 502]);
  expect(each("outcome")).toEqual([...Array(5).fill("answered"), "not_sent", "unknown"]);
  expect(each("seen")).toEqual([1, 1, 1, 1, 2, 0, 1]);
  expect(each("tokenRequests")).toEqual([0, 0, 0, 0, 1, 0, 0]);
  expect(each("unauthorized")).toEqual([0, 0, 0, 0, 1, 0, 0]);
  expect(played[3].left[0].became).toBe("signature verified, order_4 created");
  const amounts = played.map(({ left }: { left: { parameters: { name: string; value: string }[] }[] }) =>
    left.map(({ parameters }) => parameters.find(({ name }) => name === "order_amount")?.value),
  );
  const ten = '"10.00"';
  expect(amounts).toEqual([[ten], [ten], [ten], ['"25.50"'], [ten, ten], [], [ten]]);
});

/** Loaded before the command: makes Countersign, which keeps its keys as KeyObjects, sign with another key. */
const wrongKey = `import crypto, { KeyObject } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
const { createHmac } = crypto;
crypto.createHmac = (digest, key) => createHmac(digest, key instanceof KeyObject ? "another key" : key);
syncBuiltinESMExports();`;

it("exits with 1 when a scene is not what it should be: here the signature is wrong", async () => {
  const demo = startDemo(["--once"], { NODE_OPTIONS: preload(wrongKey) });
  expect(await demo.ended).toBe(1);
  const verdicts = demo.stdout().match(/^\d {2}\S.* (not )?ok$/gm);
  expect(verdicts?.map((line) => line.endsWith(" not ok"))).toEqual([false, false, false, true, false, false, false]);
  expect(demo.stdout()).toContain("→ 422 signature_mismatch\n");
  expect(demo.stdout()).toContain("wrong     status: should be 200, is 422\n");
  expect(demo.stdout()).toContain("scenes            6 of 7 ok\n");
});

const hasCurl = isInstalled("curl", "--version");
it.runIf(hasCurl)(
  nameFor(hasCurl, "curl", "stays up, and the curl lines that it prints create orders; Ctrl-C ends it without a trace"),
  async () => {
    const demo = startDemo([]);
    await demo.line((line) => line.includes("Ctrl-C ends it"));
    const lines = demo.stdout().split("\n");
    expect(lines.filter((line) => line.length > 80 && !line.startsWith("   configured in"))).toEqual([]);
    const commands = demo.stdout().match(/^curl (.*\\\n)*.*$/gm) ?? [];
    const statuses: string[] = [];
    for (const command of commands) {
      // As in a shell that uses no proxy for this machine.
      const shell = startProgram("sh", ["-c", command], plainEnvironment({ no_proxy: "127.0.0.1", NO_PROXY: "*" }));
      expect(await shell.ended).toBe(0);
      const [head = "", body = ""] = shell.stdout().split("\r\n\r\n");
      const [, status = "", outcome] = /^HTTP\/1\.1 (\d+)[\s\S]*^Countersign-Outcome: (\w+)\r?$/m.exec(head) ?? [];
      statuses.push(`${status} ${outcome}`);
      if (status === "200") expect(JSON.parse(body).order.received.order_amount).toBe("10.00");
    }
    expect(statuses).toEqual(["200 answered", "422 not_sent", "200 answered"]);
    const [pageUrl = "", metricsUrl = ""] = ["status page", "metrics"].map(
      (name) => lines.findLast((line) => line.startsWith(`   ${name} `))?.match(/http\S+/)?.[0],
    );
    const page = await fetch(pageUrl);
    expect(page.headers.get("content-type")).toMatch(/^text\/html/);
    expect(await page.text()).toContain("create_order");
    expect((await call(metricsUrl, "", { method: "GET", path: "/metrics" })).status).toBe(200);
    expect(existsSync(folderOf(demo.stdout()))).toBe(true);
    expect(await demo.stop("SIGINT")).toBe(0);
    expect(demo.stdout()).toContain("the service saw   9 requests, 8 orders created, 1 answer lost on the way\n");
    expect(existsSync(folderOf(demo.stdout()))).toBe(false);
    expect(await isOpen(pageUrl)).toBe(false);
    expect(demo.stderr()).toBe("");
    for (const secret of secrets) expect(demo.stdout()).not.toMatch(secret);
  },
);

it("ends in the middle of a scene on SIGINT, without a trace", async () => {
  const demo = startDemo(["--once"], { NODE_OPTIONS: slowly });
  await demo.line((line) => line.startsWith("4  "));
  expect(await demo.stop("SIGINT")).toBe(1);
  expect(demo.stdout()).toContain("scenes            4 of 7 ok, 3 not shown\n");
  expect(existsSync(folderOf(demo.stdout()))).toBe(false);
});

it("ends quietly, and without a trace, when its reader closes the pipe", async () => {
  const pipeline = `"${process.execPath}" simulator/dist/main.js demo --once | head -n 8`;
  const shell = startProgram("sh", ["-c", pipeline]);
  expect(await shell.ended).toBe(0);
  expect(shell.stderr()).toBe("");
  expect(existsSync(folderOf(shell.stdout()))).toBe(false);
});

it("demands --once with --json", async () => {
  const demo = startDemo(["--json"]);
  expect(await demo.ended).toBe(2);
  expect(demo.stderr()).toBe("--json is for programs, which press no keys: add --once.\n");
});

const hasTerminal = isInstalled("script", "--version");
it.runIf(hasTerminal).each([
  { env: {}, isColoured: true },
  { env: { NO_COLOR: "1" }, isColoured: false },
])(
  nameFor(hasTerminal, "script", "uses colours on terminals only, and never with NO_COLOR: $env"),
  async ({ env, isColoured }) => {
    const inTerminal = ["-qec", `${process.execPath} simulator/dist/main.js demo --once`, "/dev/null"];
    const demo = startProgram("script", inTerminal, plainEnvironment({ ...env, TERM: "xterm" }));
    expect(await demo.ended).toBe(0);
    expect(demo.stdout().includes("\u001b[32m+ authorization:")).toBe(isColoured);
    expect(demo.stdout().includes("\u001b[")).toBe(isColoured);
  },
);
