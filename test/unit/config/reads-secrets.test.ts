/**
 * A secret is the bytes of its file, except for one newline at the end. A secret that is empty, missing, or in the wrong
 * place is refused before a port opens.
 */
import { expect, test } from "vitest";
import type { Secret } from "../../../src/model/secret.ts";
import { ConfigFolder, edited, sound } from "../../../testkit/config-folder.ts";
import { at, blue, fault, inSandbox, itRefuses, key, site1, site3, withSecret, withSet } from "./refusal.ts";

test.each([
  ["none", "a secret of sufficient length", "a secret of sufficient length"],
  ["LF", "a secret of sufficient length\n", "a secret of sufficient length"],
  ["CR LF", "a secret of sufficient length\r\n", "a secret of sufficient length"],
  ["two: one stays", "a secret of sufficient length\n\n", "a secret of sufficient length\n"],
  ["a lone CR stays", "a secret of sufficient length\r", "a secret of sufficient length\r"],
  ["spaces stay", "  a secret of sufficient length  \n", "  a secret of sufficient length  "],
])("one newline at the end of a secret is dropped %s", async (_, content, expected) => {
  expect((await keySecretOf(new ConfigFolder({ k1: content })))?.reveal()).toBe(expected);
});

test("a secret is bytes, not text", async () => {
  const folder = new ConfigFolder();
  const bytes = Buffer.from([0xff, 0x00, 0xfe, ...Buffer.from("not valid utf-8")]);
  folder.write("k1", bytes);
  expect((await keySecretOf(folder))?.key.export()).toEqual(bytes);
});

test("a secret may come from an environment variable", async () => {
  const yaml = edited(["{ file: DIR/k1 }", "{ env: API_KEY }"]);
  const secret = await keySecretOf(new ConfigFolder(), yaml, { API_KEY: "canary-from-the-environment\n" });
  expect(secret?.reveal()).toBe("canary-from-the-environment");
});

const writtenOut = "never written into the configuration … { file: ";
const ofKey = `${site3}.keys[0].secret`;

itRefuses("missing and misplaced secrets", [
  fault(at(key, sound), `${ofKey}: empty … k1`, { k1: "\n" }),
  fault(withSecret("{ env: API_KEY }"), `${ofKey}: empty … API_KEY`, {}, { API_KEY: "" }),
  fault(withSecret("{ env: API_KEY }"), `${ofKey}: not set … API_KEY`),
  fault(withSecret("canary-api-secret-inline"), `${ofKey}: ${writtenOut}`),
  fault(
    withSet("name: green, clientId: g, clientSecret: canary-client-secret-inline, audience: a"),
    `${site1}.credentials[0].clientSecret: ${writtenOut}`,
  ),
  fault(withSecret("4242424242424242"), `${ofKey}: ${writtenOut}`),
  fault(inSandbox("egress: { proxy: 'http://p:3128', auth: 4242424242424242 }"), `.egress.auth: ${writtenOut}`),
  fault(withSecret("{ file: DIR/k1, env: API_KEY }"), `${ofKey}.env: env does not go with file … remove env`),
  fault(withSecret("{ file: DIR/nothing }"), `${ofKey}: cannot be read … ENOENT … create the file`),
  fault(
    withSecret("{ file: DIR/k3 }"),
    `${ofKey}: cannot be read … ENOENT … did you mean k1? Correct the path, or rename it: /`,
  ),
  fault(withSet("name: green, dir: DIR/bleu"), `${site1}.credentials[0].dir: no such folder … correct the path: /`),
  fault(withSecret("{ file: DIR/blue }"), `${ofKey}: cannot be read … EISDIR`),
  fault(withSecret("{ file: /dev/null }"), `${ofKey}: cannot be read … no regular file … make it a file`),
  fault(at(blue, sound), `${site1}.credentials[0].dir: client id … printable … client-id`, {
    "blue/client-id": "one\ntwo\n",
  }),
]);

async function keySecretOf(folder: ConfigFolder, yaml = sound, env = {}): Promise<Secret | undefined> {
  const loaded = await folder.loadSound(yaml, { env });
  return loaded.config.environments.get("sandbox")?.sites.get("S1000000003")?.defaultKey?.secret;
}
