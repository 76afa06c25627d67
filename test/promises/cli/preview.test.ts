import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ConfigFolder, canaries, edited } from "../../../testkit/config-folder.ts";
import { plainEnvironment, runWithInput } from "../../../testkit/run-program.ts";
import { callbackOf, formOf, type Given, signatureOf } from "../callbacks/sender.ts";

// `preview` on the built command: it shows the request that `serve` would send for a body, or the refusal, and warnings.

const preview = (body: string, yaml = edited(), more: readonly string[] = []) =>
  run(body, yaml, ["--site", "S1000000003", ...more]);

const withLimit = (bodyBytes: number) => edited(["listeners:", `limits: { bodyBytes: ${bodyBytes} }\nlisteners:`]);
const ofLength = (length: number) => JSON.stringify({ note: "a".repeat(length - '{"note":""}'.length) });

describe("limits.bodyBytes", () => {
  it("accepts a body of exactly this length", () => {
    const stdout = expect.stringMatching(/^POST https:\/\/api\.sandbox\.example\/json-api\/create_order\n/);
    expect(preview(ofLength(1_024), withLimit(1_024))).toEqual({ exitCode: 0, stdout, stderr: "" });
  });

  it("refuses one byte more, as serve does", () => {
    expect(preview(ofLength(1_025), withLimit(1_024))).toEqual({
      exitCode: 1,
      stdout:
        "413 body_too_large: The body is longer than 1024 bytes (limits.bodyBytes). Send less, or raise that limit. Nothing was sent.\n",
      stderr: "",
    });
  });

  it("may be 16 MiB, all of which is read", () => {
    const { exitCode, stdout } = preview(ofLength(16_777_216), withLimit(16_777_216));
    const isWhole = stdout.includes(`"note":"${"a".repeat(16_777_216 - 11)}"`);
    expect({ exitCode, isWhole }).toEqual({ exitCode: 0, isWhole: true });
  });
});

it("warns of a value that `characters: warn` lets through, without showing it", () => {
  const yaml = edited(["        keys:", "        characters: warn\n        keys:"]);
  const { exitCode, stdout, stderr } = preview('{"buyer":"Ann Other"}', yaml);
  expect(exitCode).toBe(0);
  expect(stdout).toContain('"signature":"');
  expect(stderr).toBe("The value of buyer has a character at position 4 that the service may refuse.\n");
});

describe("the string to sign", () => {
  const body = '{"order_amount":10,"format":"json","z":true}';

  it("is shown for HMAC, with the key's identifier and without its secret", () => {
    const { exitCode, stdout } = preview(body);
    expect(exitCode).toBe(0);
    const text = "order_amount10.00site_identifierS1000000003timestamp\\d+version3.0ztrue";
    expect(stdout).toMatch(new RegExp(`\n\nstring to sign \\(HMAC-SHA256, key K2000000001\\):\n${text}\n$`));
    expect(stdout).not.toContain(canaries.key);
  });

  it("is what the signature in the body signs", () => {
    const { stdout } = preview(body, edited(), ["--json"]);
    const { body: sent, stringToSign, key } = JSON.parse(stdout);
    const signature = createHmac("sha256", canaries.key).update(stringToSign).digest("hex");
    expect({ signature: JSON.parse(sent).signature, key }).toEqual({ signature, key: "K2000000001" });
  });

  it("is absent for OAuth, and leaves out the names that a site exempts", () => {
    expect(preview(body, edited(), ["--site", "S1000000001"]).stdout).not.toContain("string to sign");
    const exempting = edited(["        keys:", "        exempt: [z]\n        keys:"]);
    expect(preview(body, exempting).stdout).toMatch(/\nformatjsonorder_amount10\.00site_identifier\S+version3\.0\n$/);
  });
});

it("prints the place of a defect, which serve would log", () => {
  const broken = `const { startsWith } = String.prototype;
    String.prototype.startsWith = function (...what) {
      if (what[0] === "\\uFEFF") throw new RangeError("canary");
      return startsWith.apply(this, what);
    };`;
  const env = { NODE_OPTIONS: `--import ${new ConfigFolder().write("broken.mjs", broken)}` };
  const { exitCode, stdout, stderr } = run("{}", edited(), ["--site", "S1000000003"], plainEnvironment(env));
  expect({ exitCode, stdout }).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(/^500 internal: /) });
  expect(stderr).toMatch(/^A defect in countersign: RangeError at .*broken\.mjs.* at decodeUtf8 /);
  expect(stderr).not.toContain("canary");
});

/** It says whether a listener would accept a callback, and shows nobody a valid signature. */
describe("a callback", () => {
  const listener = (port: number) =>
    `{ bind: "127.0.0.1:${port}", environment: sandbox, application: { url: "http://127.0.0.1:8080/callbacks" } }`;
  const yaml = (...ports: number[]) =>
    edited(["listeners:", `callbacks: [ ${ports.map(listener).join(", ")} ]\nlisteners:`]);

  const previewCallback = (input: string, args: readonly string[], text = yaml(7_414)) =>
    run(input, text, ["--environment", "sandbox", "--callback", ...args]);

  const callback = callbackOf({ number: "1" }, canaries.key);
  const signedText = `eventorder_paidnumber1site_identifierS1000000003timestamp${callback["timestamp"]}version3.0`;

  it.each<[string, (parameters: Given) => string]>([
    ["json", (parameters) => `${JSON.stringify(parameters)}\n`],
    ["form", (parameters) => `${formOf(parameters)}\n`],
    ["query", (parameters) => `?${formOf(parameters)}\n`],
  ])("that is genuine, in %s: shows the key that verifies it, and the signed string", (form, write) => {
    const { exitCode, stdout, stderr } = previewCallback(write(callback), [form]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toBe(
      "127.0.0.1:7414: genuine, of S1000000003; the application gets it with Countersign-Verified: K2000000001\n\n" +
        `string to sign (HMAC-SHA256):\n${signedText}\n`,
    );
  });

  it("that is forged: shows the reason and the keys that were tried, but no valid signature", () => {
    const forged: Given = { ...callback, number: "2" };
    const { exitCode, stdout } = previewCallback(JSON.stringify(forged), ["json", "--json"]);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      listener: "127.0.0.1:7414",
      isGenuine: false,
      reason: "signature_wrong",
      detail: expect.stringMatching(
        /^it is not signed with the key that it names \(K2000000001; https:\/\/.*callbacks\.md says what is exempt\); compare the key and its secret, and the parameters in exempt, with the portal; /,
      ),
      site: "S1000000003",
      keys: ["K2000000001"],
      stringToSign: signedText.replace("number1", "number2"),
    });
    const { signature: _, ...signed } = forged;
    for (const secret of [signatureOf(signed, canaries.key), canaries.key]) expect(stdout).not.toContain(secret);
  });

  it.each<[string, Given, RegExp]>([
    [
      "lacks parameters",
      { timestamp: "", signature: "" },
      /parameter_missing: it lacks .* \(no timestamp, signature\); see who sends it$/,
    ],
    [
      "names another site",
      { site_identifier: "S9" },
      /site_unknown: .* not configured \(this listener knows S1000000001, S1000000003 .*\); configure that site or key, or/,
    ],
    [
      "has another version",
      { version: "2.0" },
      /key_missing: its site has no key of its version; give the site a key of that version$/,
    ],
    [
      "has a short signature",
      { signature: "ab" },
      /signature_wrong: .* \(a signature has 64 lower-case hexadecimal digits\); compare the key/,
    ],
  ])("that %s: says what to do", (_, change, says) => {
    const [line] = previewCallback(JSON.stringify({ ...callback, ...change }), ["json"]).stdout.split("\n");
    expect(line).toMatch(says);
  });

  it("that is genuine but too old: is not reported as forged", () => {
    const old = callbackOf({ timestamp: "1767225600" }, canaries.key);
    expect(previewCallback(JSON.stringify(old), ["json"]).stdout).toContain("and refused, callback_too_old: ");
  });

  it("that has a nested value: is refused with the listener's own code", () => {
    const { exitCode, stdout } = previewCallback('{"order":{"id":1}}', ["json"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: expect.stringContaining("refused, nested_value: ") });
  });

  it("needs --listener if there are several listeners, and is refused if there is none", () => {
    const two = yaml(7_414, 7_415);
    const asked = previewCallback(JSON.stringify(callback), ["json"], two);
    expect(asked).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("127.0.0.1:7414 or 127.0.0.1:7415") });
    const { stdout } = previewCallback(JSON.stringify(callback), ["json", "--listener", "127.0.0.1:7415"], two);
    expect(stdout).toMatch(/^127\.0\.0\.1:7415: genuine/);
    const none = previewCallback("{}", ["json"], edited());
    expect(none).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("No listener for callbacks of sandbox"),
    });
  });
});

function run(input: string, yaml: string, args: readonly string[], env = plainEnvironment()) {
  return runWithInput(input, ["preview", "--config", new ConfigFolder().writeYaml(yaml), ...args], env);
}
