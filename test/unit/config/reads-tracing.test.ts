/** Which `tracing` settings are accepted. */
import { describe, expect, test } from "vitest";
import { explain } from "../../../src/config/explain.ts";
import { ConfigFolder, sound } from "../../../testkit/config-folder.ts";
import { atTheEnd, fault, itRefuses } from "./refusal.ts";

const collector = "https://collector.example:4318/v1/traces";
const tracing = (otlp: string, more = "") => atTheEnd(`tracing: { otlp: { ${otlp} }${more} }`);
const to = (endpoint: string) => `endpoint: "${endpoint}"`;

const withHeaders = (headers: string, said: string, files = {}) =>
  fault(tracing(`${to(collector)}, headers: { ${headers} }`), `tracing.otlp.headers.${said}`, files);

itRefuses("tracing that cannot work", [
  fault(tracing(to("https://a:4318")), "tracing.otlp.endpoint: no path … https://a:4318/v1/traces"),
  fault(
    tracing(to("grpc://collector.example:4317")),
    "tracing.otlp.endpoint: has another scheme than http and https … http:// or https://",
  ),
  withHeaders("Content-Type: { file: DIR/main }", "Content-Type: set by Countersign … remove it"),
  withHeaders("x-key: { file: DIR/main }, X-Key: { file: DIR/green }", "X-Key: twice … one of them"),
  withHeaders("x-key: { file: DIR/lines }", "x-key: no value of a header … alone", {
    lines: "canary-one-line\r\nX-Other: canary",
  }),
  withHeaders("x-key: canary-written-here", "x-key: file"),
  fault(tracing(to(collector), ", sampleRatio: 1.5"), "tracing.sampleRatio: 1"),
  fault(tracing(to(collector), ", propagate: sometimes"), "tracing.propagate: callers"),
]);

describe("tracing", () => {
  test("has defaults for everything except the endpoint, and shows no header's value", async () => {
    const yaml = tracing(`${to(collector)}, headers: { X-Api-Key: { file: DIR/main } }`);
    const { config } = await new ConfigFolder().loadSound(yaml);
    const defaults = { sampleRatio: 1, serviceName: "countersign", resource: {}, propagate: "callers" };
    expect(config.tracing).toMatchObject(defaults);
    expect([...(config.tracing?.headers.keys() ?? [])]).toEqual(["x-api-key"]);
    const shown = JSON.stringify(explain(config));
    expect(shown).toContain(collector);
    expect(shown).not.toContain("canary");
  });

  test("is off without its section", async () => {
    expect((await new ConfigFolder().loadSound(sound)).config.tracing).toBeUndefined();
  });
});
