/** Row 73: `preview --callback` on the built command says what a listener would make of a callback, and gives nobody a signature. */
import { expect, it } from "vitest";
import { ConfigFolder, canaries, edited } from "../../../testkit/config-folder.ts";
import { runWithInput } from "../../../testkit/run-program.ts";
import { callbackOf, formOf, type Given, signatureOf } from "../callbacks/sender.ts";

const listener = (port: number) =>
  `{ bind: "127.0.0.1:${port}", environment: sandbox, application: { url: "http://127.0.0.1:8080/callbacks" } }`;
const yaml = (...ports: number[]) =>
  edited(["listeners:", `callbacks: [ ${ports.map(listener).join(", ")} ]\nlisteners:`]);

function preview(input: string, args: readonly string[], text = yaml(7_414)) {
  const folder = new ConfigFolder();
  const file = folder.write("countersign.yaml", text.replaceAll("DIR", folder.path));
  return runWithInput(input, ["preview", "--config", file, "--environment", "sandbox", ...args]);
}

const callback = callbackOf({ number: "1" }, canaries.key);
const signedText = `eventorder_paidnumber1site_identifierS1000000003timestamp${callback["timestamp"]}version3.0`;

it.each<[string, (parameters: Given) => string]>([
  ["json", (parameters) => `${JSON.stringify(parameters)}\n`],
  ["form", (parameters) => `${formOf(parameters)}\n`],
  ["query", (parameters) => `?${formOf(parameters)}\n`],
])("a genuine one in %s: whose key verifies it, and what is signed", (form, write) => {
  const { exitCode, stdout, stderr } = preview(write(callback), ["--callback", form]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toBe(
    "127.0.0.1:7414: genuine, of S1000000003; the application gets it with Countersign-Verified: K2000000001\n\n" +
      `string to sign (HMAC-SHA256):\n${signedText}\n`,
  );
});

it("a forged one: why, by which keys, and no signature that would be right", () => {
  const forged: Given = { ...callback, number: "2" };
  const { exitCode, stdout } = preview(JSON.stringify(forged), ["--callback", "json", "--json"]);
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    listener: "127.0.0.1:7414",
    isGenuine: false,
    reason: "signature_wrong",
    site: "S1000000003",
    keys: ["K2000000001"],
    stringToSign: signedText.replace("number1", "number2"),
  });
  const { signature: _, ...signed } = forged;
  for (const secret of [signatureOf(signed, canaries.key), canaries.key]) expect(stdout).not.toContain(secret);
});

it("one that is too old is told from one that is forged", () => {
  const old = callbackOf({ timestamp: "1767225600" }, canaries.key);
  expect(preview(JSON.stringify(old), ["--callback", "json"]).stdout).toContain("and refused, callback_too_old: ");
});

it("one that cannot be read as a flat list: as the listener says it", () => {
  const { exitCode, stdout } = preview('{"order":{"id":1}}', ["--callback", "json"]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: expect.stringContaining("refused, nested_value: ") });
});

it("asks which listener where there are several, and says where there is none", () => {
  const two = yaml(7_414, 7_415);
  const asked = preview(JSON.stringify(callback), ["--callback", "json"], two);
  expect(asked).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("127.0.0.1:7414 or 127.0.0.1:7415") });
  const { stdout } = preview(JSON.stringify(callback), ["--callback", "json", "--listener", "127.0.0.1:7415"], two);
  expect(stdout).toMatch(/^127\.0\.0\.1:7415: genuine/);
  const none = preview("{}", ["--callback", "json"], edited());
  expect(none).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("No listener for callbacks of sandbox") });
});
