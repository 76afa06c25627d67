import { describe, expect, it } from "vitest";
import { formatForPeople } from "../../../src/cli/log-line.ts";
import { call } from "../../../testkit/call.ts";
import { ConfigFolder } from "../../../testkit/config-folder.ts";
import { sandboxConfig } from "../../../testkit/config-writer.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { nameFor } from "../../../testkit/run-program.ts";
import { hasTerminals, startOnTerminal } from "../../../testkit/terminal.ts";

it("a line for people has time, level and message, its lists below, and no control characters", () => {
  const line = { level: "error", time: "2026-11-29T07:19:56.146Z", event: "config_refused", problemCount: 2 };
  const json = JSON.stringify({ ...line, problems: ["line 1: a\nb", "line 2: \u001b[2J"], message: "GET /\u009b" });
  expect(formatForPeople(`${json}\n`)).toBe("07:19:56  error  GET /\\u{9b}\n    line 1: a b\n    line 2: \\u{1b}[2J\n");
});

it.each([
  ["warn", { reference: "cart-1" }, "POST / failed; reference cart-1"],
  ["error", {}, "POST / failed; request a1"],
  ["info", { reference: "cart-1" }, "POST / failed"],
])("a line for people of level %s and with %j leads to the order of a request that failed", (level, more, said) => {
  const line = { level, time: "2026-11-29T07:19:56.146Z", event: "request_finished", requestId: "a1", ...more };
  expect(formatForPeople(JSON.stringify({ ...line, message: "POST / failed" }))).toBe(`07:19:56  ${level}  ${said}\n`);
});

it.each([
  [
    { statusBind: "127.0.0.1:7413", adminBind: ":7412" },
    ["status page http://127.0.0.1:7413/", "admin http://127.0.0.1:7412/"],
  ],
  [
    { statusBind: "[::1]:7413", adminBind: "[::]:7412" },
    ["status page http://[::1]:7413/", "admin http://[::1]:7412/"],
  ],
  [{ adminBind: "0.0.0.0:7412" }, ["admin http://127.0.0.1:7412/"]],
  [{ adminBind: "unix:/run/admin.sock" }, ["admin unix:/run/admin.sock"]],
])("the line of the start has the addresses of the status page and of the admin port: %j", (binds, said) => {
  const line = {
    level: "info",
    time: "2026-11-29T07:19:56.146Z",
    event: "started",
    ...binds,
    routes: ["a leads to b"],
  };
  const [, ...below] = formatForPeople(JSON.stringify({ ...line, message: "listening" }))
    .trimEnd()
    .split("\n");
  expect(below).toEqual(["a leads to b", ...said].map((text) => expect.stringContaining(`    ${text}`)));
});

describe.runIf(hasTerminals)(nameFor(hasTerminals, "python3", "on a terminal"), () => {
  it("serve prints lines for people; logs-json-lines-only.test.ts has what it prints elsewhere", async () => {
    const folder = new ConfigFolder();
    const port = await freePort();
    const sandbox = {
      baseUrl: "http://127.0.0.1:1",
      sites: {
        S1: { keys: [{ identifier: "K1", secret: { file: folder.write("k1", "a-secret-that-is-long-enough") } }] },
      },
    };
    const file = folder.config("countersign.yaml", sandboxConfig([`127.0.0.1:${port}`], sandbox));
    const terminal = startOnTerminal([process.execPath, "dist/main.js", "serve", "--config", file]);
    await terminal.awaitText(`  info  listening\n    127.0.0.1:${port} leads to sandbox: http://127.0.0.1:1`);
    await terminal.awaitText("    status page http://127.0.0.1:");
    const failed = await call(`http://127.0.0.1:${port}`);
    expect(failed.status).toBe(502);
    await terminal.awaitText(
      "  warn  create_order for S1: 502 upstream_unreachable, not_sent; http://127.0.0.1:1: connections are refused",
    );
    await terminal.awaitText(`request ${failed.headers["countersign-request-id"]}\n`);
    terminal.press("\x03");
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toMatch(/^\d\d:\d\d:\d\d {2}info {2}stopped$/m);
    expect(terminal.shown()).not.toContain("{");
  });
});
