import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { formatProblems } from "../../../src/config/diagnostics.ts";
import { explain } from "../../../src/config/explain.ts";
import { toYaml } from "../../../src/config/files/yaml.ts";
import { clientCertificate, clientKey } from "../../../testkit/certificates.ts";
import { ConfigFolder, edited, sound, tokenKey } from "../../../testkit/config-folder.ts";

const key = "secret: { file: DIR/k1 }";
const set = "{ name: blue, dir: DIR/blue }";

describe("no secret comes out of an active configuration", () => {
  test("by printing it", async () => {
    const loaded = await new ConfigFolder().loadSound(sound);
    const { config } = loaded;
    const everything = [
      inspect(loaded, { depth: null, showHidden: true }),
      JSON.stringify(loaded),
      JSON.stringify(explain(config)),
      toYaml(explain(config)),
      String(config.environments.get("sandbox")?.sites.get("S1000000003")?.keys[0]?.secret),
    ];
    for (const text of everything) expect(text).not.toContain("canary");
  });

  test("by printing one with Redis", async () => {
    const folder = new ConfigFolder();
    folder.write("redis-key", clientKey);
    folder.write("redis-cert", clientCertificate);
    const loaded = await folder.loadSound(`${sound}tokens: { cache: redis }
redis:
  sentinel: { name: m, nodes: ["a:1"], password: { file: DIR/green } }
  password: { file: DIR/main }
  tls: { certFile: redis-cert, keyFile: redis-key }
  encryptionKeys: [ { file: DIR/token-key } ]
`);
    const everything = [
      inspect(loaded, { depth: null, showHidden: true }),
      JSON.stringify(loaded),
      toYaml(explain(loaded.config)),
    ];
    const keyLine = clientKey.split("\n")[1] ?? "";
    for (const text of everything) {
      expect(text).not.toContain("canary");
      expect(text).not.toContain(tokenKey);
      expect(text).not.toContain(keyLine);
    }
  });
});

test("no key of an assertion comes out of an active configuration by printing it", async () => {
  const folder = new ConfigFolder();
  folder.write("key", clientKey);
  const byKey =
    "{ name: a, clientId: b, privateKey: { file: DIR/key }, audience: c, token: { clientAuth: private_key_jwt } }";
  const loaded = await folder.loadSound(edited([set, byKey]));
  const explained = toYaml(explain(loaded.config));
  expect(explained).toContain(`privateKey:\n              file: ${folder.path}/key\n`);
  const everything = [inspect(loaded, { depth: null, showHidden: true }), JSON.stringify(loaded), explained];
  for (const text of everything) expect(text).not.toContain(clientKey.split("\n")[1]);
});

describe("no secret comes out of a refusal, wherever it was written by mistake", () => {
  test.each([
    ["in place of its file", edited([key, "secret: canary"])],
    ["as a list", edited([key, "secret: [canary]"])],
    ["under a misspelt key", edited([key, `${key}, Secret: canary`])],
    ["under a misspelt key of a set", edited([set, "{ name: a, clientId: b, clientsecret: canary, audience: c }"])],
    ["as a private key", edited([set, "{ name: a, clientId: b, privateKey: canary, audience: c }"])],
    ["as a private key in a list", edited([set, "{ name: a, clientId: b, privateKey: [canary], audience: c }"])],
    [
      "as a further field that is no text",
      edited([set, "{ name: a, dir: DIR/blue, token: { extra: { k: [canary] } } }"]),
    ],
    ["among the settings", edited([set, "{ name: a, dir: DIR/blue, token: { clientsecret: canary } }"])],
    [
      "in a token endpoint",
      edited([set, '{ name: a, dir: DIR/blue, token: { url: "https://canary:canary@a/token" } }']),
    ],
    ["in place of a set", edited([set, "canary"])],
    ["in place of the sets", edited([`credentials:\n          - ${set}`, "credentials: canary"])],
    ["in place of a site", edited(["    sites:\n", "    sites:\n      S9: canary\n"])],
    ["in a URL", edited(["https://api.sandbox.example/json-api", "https://canary:canary@api.sandbox.example"])],
    ["in a Redis URL", `${sound}tokens: { cache: redis }\nredis: { url: "redis://:canary@cache:6379" }\n`],
    [
      "in a lock node's URL",
      `${sound}tokens: { cache: redis }\nredis: { url: "redis://cache", lockNodes: ["redis://:canary@other"] }\n`,
    ],
    [
      "in a Redis URL, with characters that a URL cannot hold",
      `${sound}tokens: { cache: redis }\nredis: { url: "redis://u:can/a?r#canary y@c" }\n`,
    ],
    ["in a Redis URL without a scheme", `${sound}tokens: { cache: redis }\nredis: { url: "canary@cache:6379" }\n`],
    [
      "in a Redis URL's query",
      `${sound}tokens: { cache: redis }\nredis: { url: "redis://cache?password=canary&x=canary" }\n`,
    ],
    [
      "in a socket's query",
      `${sound}tokens: { cache: redis }\nredis: { url: "unix:/run/redis.sock?password=canary" }\n`,
    ],
    [
      "in a Sentinel's address",
      `${sound}tokens: { cache: redis }\nredis: { sentinel: { name: m, nodes: [":canary@a:26379"] } }\n`,
    ],
    ["as a Redis password", `${sound}tokens: { cache: redis }\nredis: { url: "redis://cache", password: canary }\n`],
    [
      "as an encryption key",
      `${sound}tokens: { cache: redis }\nredis: { url: "redis://cache", encryptionKeys: [canary] }\n`,
    ],
    ["in broken YAML", edited([key, 'secret: "canary'])],
    ["behind the end of a value", edited([key, "secret: 'x' canary"])],
    ["as what is left over", `${sound}]\ncanary\n`],
    ["as a block scalar's header", `${sound}log: |canary\n`],
  ])("%s", async (_, yaml) => {
    const problems = await new ConfigFolder().problemsOf(yaml);
    expect(problems).not.toEqual([]);
    expect(JSON.stringify(problems)).not.toContain("canary");
    expect(formatProblems("countersign.yaml", problems)).not.toContain("canary");
  });

  test.each([
    ["a client id of two lines", "blue/client-id", "canary\ncanary"],
    ["an audience with a space", "blue/audience", "canary canary"],
    ["an encryption key of the wrong length", "token-key", "canary"],
  ])("%s", async (_, name, content) => {
    const folder = new ConfigFolder();
    folder.write(name, content);
    const problems = await folder.problemsOf(
      `${sound}tokens: { cache: redis }\nredis: { url: "redis://cache", encryptionKeys: [ { file: DIR/token-key } ] }\n`,
    );
    expect(problems).toHaveLength(1);
    expect(JSON.stringify(problems)).not.toContain("canary");
  });
});
