/** Row 84, among others: what `tracing` may and may not be. */
import { describe, expect, test } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { explain } from "../../../src/config/explain.ts";
import { ConfigFolder, sound } from "../../../testkit/config-folder.ts";
import { atTheEnd, itRefuses, type Refusal } from "./refusal.ts";

const collector = "https://collector.example:4318/v1/traces";
const tracing = (otlp: string, more = "") => atTheEnd(`tracing: { otlp: { ${otlp} }${more} } # here`);
const to = (endpoint: string) => `endpoint: "${endpoint}"`;

const refusals: readonly Refusal[] = [
  {
    what: "a collector without a path, as OTEL_EXPORTER_OTLP_ENDPOINT has it",
    yaml: tracing(to("https://collector.example:4318")),
    path: "tracing.otlp.endpoint",
    message: /no path/,
    fix: /https:\/\/collector\.example:4318\/v1\/traces/,
  },
  {
    what: "an endpoint of gRPC",
    yaml: tracing(to("grpc://collector.example:4317")),
    path: "tracing.otlp.endpoint",
    message: /cannot be read/,
    fix: /http:\/\/ or https:\/\//,
  },
  {
    what: "a header that each export has anyway",
    yaml: tracing(`${to(collector)}, headers: { Content-Type: { file: DIR/main } }`),
    path: "tracing.otlp.headers.Content-Type",
    message: /set by Countersign/,
    fix: /remove it/,
  },
  {
    what: "one header twice",
    yaml: tracing(`${to(collector)}, headers: { x-key: { file: DIR/main }, X-Key: { file: DIR/green } }`),
    path: "tracing.otlp.headers.X-Key",
    message: /twice/,
    fix: /one of them/,
  },
  {
    what: "a header that would be two lines",
    yaml: tracing(`${to(collector)}, headers: { x-key: { file: DIR/lines } }`),
    path: "tracing.otlp.headers.x-key",
    message: /no value of a header/,
    fix: /alone/,
    files: { lines: "canary-one-line\r\nX-Other: canary" },
  },
  {
    what: "a header's value in the file itself",
    yaml: tracing(`${to(collector)}, headers: { x-key: canary-written-here }`),
    path: "tracing.otlp.headers.x-key",
    message: /./,
    fix: /file/,
  },
  {
    what: "a share above 1",
    yaml: tracing(to(collector), ", sampleRatio: 1.5"),
    path: "tracing.sampleRatio",
    message: /./,
    fix: /1/,
  },
  {
    what: "a way of passing traceparent on that there is not",
    yaml: tracing(to(collector), ", propagate: sometimes"),
    path: "tracing.propagate",
    message: /./,
    fix: /callers/,
  },
];
itRefuses("tracing that cannot work", refusals);

async function load(yaml: string, env: Record<string, string> = {}) {
  const loaded = await new ConfigFolder().load(yaml, { env });
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  const warnings = loaded.warnings.map(({ code, path }) => `${code} ${path}`);
  return { config: loaded.config as Config, warnings: warnings.filter((text) => /span|otel/.test(text)) };
}

describe("tracing", () => {
  test("has defaults for all but the endpoint, and shows no header", async () => {
    const { config } = await load(tracing(`${to(collector)}, headers: { X-Api-Key: { file: DIR/main } }`));
    expect(config.tracing).toMatchObject({
      sampleRatio: 1,
      serviceName: "countersign",
      resource: {},
      propagate: "callers",
    });
    expect([...(config.tracing?.headers.keys() ?? [])]).toEqual(["x-api-key"]);
    const shown = JSON.stringify(explain(config));
    expect(shown).toContain(collector);
    expect(shown).not.toContain("canary");
  });

  test("is off without its section", async () => {
    expect((await load(sound)).config.tracing).toBeUndefined();
  });

  test.each([
    ["http://collector.example:4318/v1/traces", ["spans_in_plain_text tracing.otlp.endpoint"]],
    ["http://127.0.0.1:4318/v1/traces", []],
    [collector, []],
  ])("to %s is warned of: %j", async (endpoint, warnings) => {
    expect((await load(tracing(to(endpoint)))).warnings).toEqual(warnings);
  });

  test.each(["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])(
    "%s is warned of where it is set and nothing is traced",
    async (name) => {
      const env = { [name]: "http://collector:4318" };
      expect((await load(sound, env)).warnings).toEqual(["otel_endpoint_unused tracing"]);
      expect((await load(tracing(to(collector)), env)).warnings).toEqual([]);
    },
  );
});
