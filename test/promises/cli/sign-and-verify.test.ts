import { createHmac } from "node:crypto";
import { expect, it } from "vitest";
import { sign } from "../../../src/parameters/signature.ts";
import { ConfigFolder, sound } from "../../../testkit/config-folder.ts";
import { runWithInput } from "../../../testkit/run-program.ts";

// `sign` and `verify` on the built command: their signatures are those that `serve` would send, whatever bytes the key consists of.

const parameters = { version: "3.0", site_identifier: "S1000000003", timestamp: "1767225600", order_amount: "10.00" };
const text = "order_amount10.00site_identifierS1000000003timestamp1767225600version3.0";

const run = (command: "sign" | "verify", keyFile: string, input: object) =>
  runWithInput(JSON.stringify(input), [command, "--key-file", keyFile]);

const binary = [0xff, 0xfe, 0x00, 0x80, 0xc3, 0x28, 0x0a, 0xf0, 0x9f, 0xed, 0xa0, 0x80, 0x01, 0x02, 0x03, 0x04];

it.each([
  ["text", [...Buffer.from("a-key-of-text-long-enough")], []],
  ["text and a newline", [...Buffer.from("a-key-of-text-long-enough")], [0x0a]],
  ["bytes that are no UTF-8", binary, []],
  ["bytes that are no UTF-8 and a newline", binary, [0x0a]],
  ["bytes that are no UTF-8 and a newline of Windows", binary, [0x0d, 0x0a]],
])("a key of %s signs as in serve", async (_, key, end) => {
  const folder = new ConfigFolder();
  const keyFile = folder.write("k1", Buffer.from([...key, ...end]));
  const signature = createHmac("sha256", Buffer.from(key)).update(text).digest("hex");
  expect(await signatureOfServe(folder)).toBe(signature);

  const signed = run("sign", keyFile, parameters);
  expect(signed).toEqual({ exitCode: 0, stdout: `${JSON.stringify({ stringToSign: text, signature })}\n`, stderr: "" });
  const verified = run("verify", keyFile, { ...parameters, signature });
  expect(verified).toEqual({ exitCode: 0, stdout: "The signature is valid.\n", stderr: "" });
});

it("signs and verifies long parameters to the last byte", () => {
  const keyFile = new ConfigFolder().write("k1", "a-key-of-text-long-enough");
  const long = { ...parameters, zz: "a".repeat(2 * 1_048_576) };
  const { signature } = JSON.parse(run("sign", keyFile, long).stdout);
  const expected = createHmac("sha256", "a-key-of-text-long-enough").update(`${text}zz${long.zz}`).digest("hex");
  expect(signature).toBe(expected);
  expect(run("verify", keyFile, { ...long, signature }).exitCode).toBe(0);
  const stdout = expect.stringContaining("The signature does not match");
  const changed = { ...long, zz: `${long.zz.slice(1)}b`, signature };
  expect(run("verify", keyFile, changed)).toMatchObject({ exitCode: 1, stdout });
});

it.each(["sign", "verify"] as const)("%s refuses input that is too long, and uses no part of it", (command) => {
  const keyFile = new ConfigFolder().write("k1", "a-key-of-text-long-enough");
  expect(run(command, keyFile, { ...parameters, zz: "a".repeat(16 * 1_048_576) })).toEqual({
    exitCode: 2,
    stdout: "",
    stderr: "Standard input is longer than 16 MiB.\n",
  });
});

it.each(["", "\n", "\r\n"])("refuses a key file with nothing but %j", (content) => {
  const keyFile = new ConfigFolder().write("empty", content);
  expect(run("sign", keyFile, parameters)).toEqual({
    exitCode: 2,
    stdout: "",
    stderr: `--key-file ${keyFile} is empty.\n`,
  });
});

/** The signature with the key as `serve` reads it. */
async function signatureOfServe(folder: ConfigFolder): Promise<string> {
  const loaded = await folder.loadSound(sound);
  const key = loaded.config.environments.get("sandbox")?.siteOfKey.get("K2000000001")?.defaultKey;
  if (key === undefined) throw new Error("the site has a key");
  return sign(text, key.secret);
}
