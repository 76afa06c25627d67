/** Row 84: a process that does not trace loads nothing of it, nor what it needs; one that does exports nothing before it listens. */
import { expect, it, onTestFinished } from "vitest";
import { startCollector } from "../../../testkit/collector.ts";
import { ConfigWriter, sandboxConfig } from "../../../testkit/config-writer.ts";
import { plainEnvironment, startProgram } from "../../../testkit/run-program.ts";

/** Says on standard error which modules were asked for that tracing needs. */
const watch = `data:text/javascript,${encodeURIComponent(`
import { register } from "node:module";
register("data:text/javascript," + encodeURIComponent(\`
import { writeSync } from "node:fs";
export function resolve(specifier, context, next) {
  if (/tracing\\\\/|span-export/.test(specifier)) writeSync(2, "loaded " + specifier + "\\\\n");
  return next(specifier, context);
}\`));
`)}`;

it.each([
  { what: "loads nothing of it where it is not configured", isTraced: false },
  { what: "loads it where it is configured, and connects to no collector before there is a span", isTraced: true },
])("$what", async ({ isTraced }) => {
  const collector = await startCollector();
  const folder = new ConfigWriter("tracing");
  onTestFinished(() => folder.remove());
  const secret = folder.secret("k1", "canary-api-secret-key-one");
  const more = isTraced ? { tracing: { otlp: { endpoint: collector.url } } } : {};
  const sites = { S1000000003: { keys: [{ identifier: "K2000000001", secret }] } };
  const file = folder.config(
    "countersign.yaml",
    sandboxConfig(["127.0.0.1:0"], { baseUrl: "http://127.0.0.1:9", sites }, more),
  );
  const args = ["--import", watch, "dist/unbundled.js", "serve", "--config", file];
  const program = startProgram(process.execPath, args, plainEnvironment());
  await program.line((line) => line.includes('"event":"started"'));
  program.child.kill("SIGTERM");
  expect(await program.ended).toBe(0);
  const loaded = program.stderr().split("\n").filter(Boolean);
  if (isTraced) expect(loaded.join()).toContain("span-exporter");
  else expect(loaded).toEqual([]);
  expect(collector.requests).toEqual([]);
});
