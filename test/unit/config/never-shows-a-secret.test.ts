import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { formatProblems } from "../../../src/config/diagnostics.ts";
import { explain } from "../../../src/config/explain.ts";
import { toYaml } from "../../../src/config/files/yaml.ts";
import type { Loaded } from "../../../src/config/load.ts";
import { clientCertificate, clientKey } from "../../../testkit/certificates.ts";
import { ConfigFolder, edited, sound, tokenKey } from "../../../testkit/config-folder.ts";
import { withRedis } from "./refusal.ts";

const key = "secret: { file: DIR/k1 }";
const set = "{ name: blue, dir: DIR/blue }";

const lineOfKey = clientKey.split("\n")[1];

describe("printing an active configuration shows no secret", () => {
  test("with nothing else in it", async () => {
    const loaded = await new ConfigFolder().loadSound(sound);
    expect(printed(loaded)).not.toContain("canary");
    const secret = loaded.config.environments.get("sandbox")?.sites.get("S1000000003")?.keys[0]?.secret;
    expect(String(secret)).not.toContain("canary");
  });

  test("with Redis, and one file for the certificate and its key", async () => {
    const folder = new ConfigFolder({ both: `${clientKey}${clientCertificate}` });
    const sentinel = 'sentinel: { name: m, nodes: ["a:1"], password: { file: DIR/green } }';
    const tls = "tls: { certFile: both, keyFile: both }";
    const text = printed(await folder.loadSound(withRedis(`${sentinel}, password: { file: DIR/main }, ${tls}`)));
    for (const secret of ["canary", tokenKey, lineOfKey]) expect(text).not.toContain(secret);
  });

  test("with the private key of an assertion", async () => {
    const folder = new ConfigFolder({ key: clientKey });
    const byKey = "privateKey: { file: DIR/key }, audience: c, token: { clientAuth: private_key_jwt }";
    const text = printed(await folder.loadSound(edited([set, `{ name: a, clientId: b, ${byKey} }`])));
    expect(text).toContain(`privateKey:\n              file: ${folder.path}/key\n`);
    expect(text).not.toContain(lineOfKey);
  });
});

describe("a refusal shows no secret, wherever it was written by mistake", () => {
  test.each([
    ["as a list", edited([key, "secret: [canary]"])],
    ["under a misspelt key", edited([key, `${key}, Secret: canary`])],
    [
      "in a token endpoint",
      edited([set, '{ name: a, dir: DIR/blue, token: { url: "https://canary:canary@a/token" } }']),
    ],
    ["in place of a set", edited([set, "canary"])],
    ["in place of the sets", edited([`credentials:\n          - ${set}`, "credentials: canary"])],
    ["in place of a site", edited(["    sites:\n", "    sites:\n      S9: canary\n"])],
    ["in a URL", edited(["https://api.sandbox.example/json-api", "https://canary:canary@api.sandbox.example"])],
    ["in a lock node's URL", withRedis('url: "redis://cache", lockNodes: ["redis://:canary@other"]')],
    ["in a Redis URL, with characters that a URL cannot hold", withRedis('url: "redis://u:can/a?r#canary y@c"')],
    ["in a Redis URL without a scheme", withRedis('url: "canary@cache:6379"')],
    ["in a Redis URL's query", withRedis('url: "redis://cache?password=canary&x=canary"')],
    ["in a socket's query", withRedis('url: "unix:/run/redis.sock?password=canary"')],
    ["in a Sentinel's address", withRedis('sentinel: { name: m, nodes: [":canary@a:26379"] }')],
    ["as a private key in place of a file", edited([key, 'secret: { file: "-----BEGIN PRIVATE KEY-----\\ncanary" }'])],
    ["folded into one line", edited([key, "secret: { file: -----BEGIN PRIVATE KEY----- canary }"])],
    [
      "in place of a key's path",
      edited(["    sites:\n", '    tls: { certFile: a, keyFile: "canary\\n" }\n    sites:\n']),
    ],
    ["in place of a variable's name", edited([key, "secret: { env: can/ary-canary }"])],
    ["behind a colon without a blank, in braces", edited([key, "secret:canary: x"])],
    ["behind a key alone, in braces", edited([key, "secret canary"])],
    ["behind an equals sign", edited([key, '"secret=canary": x'])],
    ["in broken YAML", edited([key, 'secret: "canary'])],
    ["behind the end of a value", edited([key, "secret: 'x' canary"])],
    ["after the end of the document", `${sound}]\ncanary\n`],
    ["as a block scalar's header", `${sound}log: |canary\n`],
  ])("%s", async (_, yaml) => {
    const problems = await new ConfigFolder().problemsOf(yaml);
    expect(problems).not.toEqual([]);
    expect(JSON.stringify(problems)).not.toContain("canary");
    expect(formatProblems("countersign.yaml", problems)).not.toContain("canary");
  });

  test.each([
    ["an audience with a space", "blue/audience", "canary canary"],
    ["an encryption key of the wrong length", "token-key", "canary"],
  ])("%s", async (_, name, content) => {
    const folder = new ConfigFolder();
    folder.write(name, content);
    const problems = await folder.problemsOf(withRedis('url: "redis://cache"'));
    expect(problems).toHaveLength(1);
    expect(JSON.stringify(problems)).not.toContain("canary");
  });
});

/** All printed forms of an active configuration. */
function printed(loaded: Loaded): string {
  const explained = loaded.kind === "loaded" ? explain(loaded.config) : expect.unreachable();
  const inspected = inspect(loaded, { depth: null, showHidden: true });
  return [inspected, JSON.stringify(loaded), JSON.stringify(explained), toYaml(explained)].join("\n");
}
