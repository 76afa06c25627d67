/** Row 73, among others: what a listener for callbacks may and may not be. */
import { describe, expect, test } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { explain, routes } from "../../../src/config/explain.ts";
import { ConfigFolder, edited, sound } from "../../../testkit/config-folder.ts";
import { atTheEnd, itRefuses, key, type Refusal } from "./refusal.ts";

const to = (url: string, more = "") => `application: { url: "${url}"${more} }`;
const here = to("http://127.0.0.1:8080/callbacks");
const listener = (text: string) => atTheEnd(`callbacks:\n  - ${text} # here`);
const own = 'bind: "127.0.0.1:7414", environment: sandbox';

const refusals: readonly Refusal[] = [
  {
    what: "an environment that does not exist",
    yaml: listener(`{ bind: "127.0.0.1:7414", environment: live, ${here} }`),
    path: "callbacks[0].environment",
    message: /no such environment/,
    fix: /sandbox/,
  },
  {
    what: "an environment without any key",
    yaml: edited([`        keys:\n${key}`, "        credentials:\n          - { name: blue, dir: DIR/blue }\n"]).concat(
      `callbacks:\n  - { ${own}, ${here} } # here\n`,
    ),
    path: "callbacks[0].environment",
    message: /no site of this environment has keys/,
    fix: /add the keys/,
  },
  {
    what: "the address of a listener",
    yaml: listener(`{ bind: "127.0.0.1:7411", environment: sandbox, ${here} }`),
    path: "callbacks[0].bind",
    message: /listeners\[0\]\.bind listens there already/,
    fix: /own/,
  },
  {
    what: "a listener's port at another address, though of its environment",
    yaml: listener(`{ bind: "[::1]:7411", environment: sandbox, ${here} }`),
    path: "callbacks[0].bind",
    message: /listeners\[0\]\.bind/,
    fix: /own/,
  },
  {
    what: "plain http beyond loopback",
    yaml: listener(`{ ${own}, ${to("http://app.example/callbacks")} }`),
    path: "callbacks[0].application.url",
    message: /plain text/,
    fix: /https:\/\//,
  },
  {
    what: "an application that is the listener itself",
    yaml: listener(`{ ${own}, ${to("http://localhost:7414/callbacks")} }`),
    path: "callbacks[0].application.url",
    message: /leads back/,
    fix: /own address/,
  },
  {
    what: "a query in the application's URL",
    yaml: listener(`{ ${own}, ${to("http://127.0.0.1:8080/?a=1")} }`),
    path: "callbacks[0].application.url",
    message: /cannot be read/,
    fix: /nothing more/,
  },
  {
    what: "an exempt name that must be signed",
    yaml: listener(`{ ${own}, ${here}, exempt: [timestamp] }`),
    path: "callbacks[0].exempt[0]",
    message: /timestamp must be signed/,
    fix: /remove/,
  },
  {
    what: "a window that is no window",
    yaml: listener(`{ ${own}, ${here}, window: 2h }`),
    path: "callbacks[0].window",
    message: /more than 3600s/,
    fix: /from 10000ms/,
  },
  {
    what: "a mode of replay that is neither",
    yaml: listener(`{ ${own}, ${here}, replay: off }`),
    path: "callbacks[0].replay",
    message: /./,
    fix: /strict/,
  },
  {
    what: "a key that does not exist",
    yaml: listener(`{ ${own}, ${here}, callers: anyone }`),
    path: "callbacks[0].callers",
    message: /no key callers/,
    fix: /./,
  },
  {
    what: "no application",
    yaml: listener(`{ ${own} }`),
    path: "callbacks[0].application",
    message: /missing|required/,
    fix: /./,
  },
  {
    what: "a certificate that is none",
    yaml: listener(`{ ${own}, ${here}, mtls: { caFile: DIR/k1, certFile: DIR/k1, keyFile: DIR/k1 } }`),
    path: "callbacks[0].mtls.caFile",
    message: /no certificate/,
    fix: /PEM/,
    count: 3,
  },
];

itRefuses("unsafe callbacks", refusals);

async function load(yaml: string): Promise<{ config: Config; codes: unknown[] }> {
  const loaded = await new ConfigFolder().load(yaml);
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  return { config: loaded.config, codes: loaded.warnings.map(({ code }) => code) };
}

describe("callbacks as they are meant", () => {
  test("have defaults that are safe", async () => {
    const { config, codes } = await load(listener(`{ ${own}, ${here} }`));
    const [callbacks] = config.callbacks ?? [];
    expect(callbacks).toMatchObject({ environment: "sandbox", windowMs: 300_000, replay: "strict", tls: undefined });
    expect(callbacks?.application).toMatchObject({ timeoutMs: 10_000, url: { path: "/callbacks" } });
    expect([...(callbacks?.exempt ?? [])]).toEqual(["format", "signature", "call"]);
    expect(routes(config)).toContain("127.0.0.1:7414 hands callbacks of sandbox to http://127.0.0.1:8080/callbacks");
    expect(explain(config)).toMatchObject({
      callbacks: [
        {
          bind: "127.0.0.1:7414",
          environment: "sandbox",
          application: { url: "http://127.0.0.1:8080/callbacks", timeout: "10s" },
          exempt: ["format", "signature", "call"],
          window: "300s",
          replay: "strict",
        },
      ],
    });
    expect(codes).toContain("callbacks_without_keys");
    expect(codes).not.toContain("callbacks_in_plain_text");
  });

  test("may be beyond loopback, since each is verified; plain text is warned of", async () => {
    const { codes } = await load(listener(`{ bind: ":7414", environment: sandbox, ${here} }`));
    expect(codes).toContain("callbacks_in_plain_text");
  });

  test("may go to an application in plain text where that is written", async () => {
    const url = to("http://app.example/callbacks", ", allowPlaintext: true");
    expect((await load(listener(`{ ${own}, ${url} }`))).config.callbacks).toHaveLength(1);
  });

  test("are bounded by timeouts.request, and a longer timeout is warned of", async () => {
    const slow = to("http://127.0.0.1:8080/", ", timeout: 30s");
    expect((await load(listener(`{ ${own}, ${slow} }`))).codes).toContain("callback_longer_than_request");
    expect((await load(listener(`{ ${own}, ${here} }`))).codes).not.toContain("callback_longer_than_request");
  });

  test("are part of what the hash tells apart, and change nothing where there are none", async () => {
    const hashes = await Promise.all(
      [sound, listener(`{ ${own}, ${here} }`), listener(`{ ${own}, ${here}, replay: best_effort }`)].map(
        async (yaml) => (await load(yaml)).config.hash,
      ),
    );
    expect(new Set(hashes).size).toBe(3);
    expect((await load(sound)).config).not.toHaveProperty("callbacks");
  });
});
