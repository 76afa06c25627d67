/** Which listeners for callbacks are accepted. */
import { describe, expect, test } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { explain, routes } from "../../../src/config/explain.ts";
import { ConfigFolder, edited } from "../../../testkit/config-folder.ts";
import { atTheEnd, fault, itRefuses, key } from "./refusal.ts";

const to = (url: string, more = "") => `application: { url: "${url}"${more} }`;
const here = to("http://127.0.0.1:8080/callbacks");
const listener = (text: string) => atTheEnd(`callbacks:\n  - ${text}`);
const noPem = "{ caFile: DIR/k1, certFile: DIR/k1, keyFile: DIR/k1 }";
const own = 'bind: "127.0.0.1:7414", environment: sandbox';

const at = (place: string, said: string) => fault(listener(`{ ${place}, ${here} }`), `callbacks[0].${said}`);
const wrong = (more: string, said: string) => at(`${own}, ${more}`, said);
const leadingTo = (url: string, said: string) =>
  fault(listener(`{ ${own}, ${to(url)} }`), `callbacks[0].application.url: ${said}`);

itRefuses("unsafe callbacks", [
  at('bind: "127.0.0.1:7414", environment: live', "environment: no such environment … sandbox"),
  fault(
    edited([`        keys:\n${key}`, "        credentials:\n          - { name: blue, dir: DIR/blue }\n"]).concat(
      `callbacks:\n  - { ${own}, ${here} } # here\n`,
    ),
    "callbacks[0].environment: no site of this environment has keys … add the keys",
  ),
  at('bind: "127.0.0.1:7411", environment: sandbox', "bind: listeners[0].bind listens there already … own"),
  at('bind: "[::1]:7411", environment: sandbox', "bind: listeners[0].bind … own"),
  leadingTo("http://app.example/callbacks", "plain text … https://"),
  leadingTo("http://localhost:7414/callbacks", "this process listens there itself: callbacks[0].bind … other program"),
  leadingTo("http://127.0.0.1:7411/callbacks", "this process listens there itself: listeners[0].bind"),
  leadingTo("http://127.0.0.1:8080/?a=1", "has a query, from ? on … nothing more"),
  wrong("exempt: [timestamp]", "exempt[0]: timestamp must be signed … remove"),
  wrong("remember: 5m", "remember: less than 1h … to 720h"),
  wrong("replay: off", "replay: strict"),
  wrong("callers: anyone", "callers: no key callers"),
  fault(listener(`{ ${own} }`), "callbacks[0].application: missing"),
  { ...wrong(`mtls: ${noPem}`, "mtls.caFile: no certificate … PEM"), count: 3 },
]);

describe("sound settings of callbacks", () => {
  test("have safe defaults", async () => {
    const { config, codes } = await load(listener(`{ ${own}, ${here} }`));
    const [callbacks] = config.callbacks ?? [];
    expect(callbacks).toMatchObject({
      ...{ environment: "sandbox", rememberMs: 604_800_000, replay: "best_effort", tls: undefined },
      application: { timeoutMs: 10_000, url: { path: "/callbacks" } },
    });
    expect([...(callbacks?.exempt ?? [])]).toEqual(["format", "signature", "call"]);
    expect(routes(config)).toContain("127.0.0.1:7414 hands callbacks of sandbox to http://127.0.0.1:8080/callbacks");
    const application = { url: "http://127.0.0.1:8080/callbacks", timeout: "10s" };
    const written = { exempt: ["format", "signature", "call"], remember: "168h", replay: "best_effort" };
    expect(explain(config)).toMatchObject({
      callbacks: [{ bind: "127.0.0.1:7414", environment: "sandbox", application, ...written }],
    });
    expect(codes).toContain("callbacks_without_keys");
  });

  test("may have their listener beyond loopback, since each callback is verified", async () => {
    const { config } = await load(listener(`{ bind: ":7414", environment: sandbox, ${here} }`));
    expect(config.callbacks).toMatchObject([{ bind: { port: 7414 } }]);
  });

  test("may lead to an application over plain HTTP if allowPlaintext is set", async () => {
    const url = to("http://app.example/callbacks", ", allowPlaintext: true");
    expect((await load(listener(`{ ${own}, ${url} }`))).config.callbacks).toHaveLength(1);
  });

  test("with strict and without Redis get a warning that callbacks are not remembered over a restart", async () => {
    const shared = "tokens: { cache: redis }\nredis: { url: redis://a, encryptionKeys: [ { file: DIR/token-key } ] }\n";
    const isWarned = async (more: string, before = "") =>
      (await load(`${before}${listener(`{ ${own}, ${here}${more} }`)}`)).codes.includes("callbacks_forgotten");
    const replayOf = async (before: string) => (await load(`${before}${listener(`{ ${own}, ${here} }`)}`)).config;
    for (const [before, replay] of [
      ["", "best_effort"],
      [shared, "strict"],
    ] as const) {
      const config = await replayOf(before);
      expect([config.callbacks, explain(config)]).toMatchObject([[{ replay }], { callbacks: [{ replay }] }]);
    }
    expect(await isWarned("")).toBe(false);
    expect(await isWarned(", replay: strict")).toBe(true);
    expect(await isWarned(", replay: best_effort")).toBe(false);
    expect(await isWarned("", shared)).toBe(false);
  });
});

async function load(yaml: string): Promise<{ config: Config; codes: unknown[] }> {
  const loaded = await new ConfigFolder().loadSound(yaml);
  return { config: loaded.config, codes: loaded.warnings.map(({ code }) => code) };
}
