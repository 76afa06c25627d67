import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ConfigFolder, canaries, edited } from "../../../testkit/config-folder.ts";
import { plainEnvironment, runWithInput } from "../../../testkit/run-program.ts";

// `preview` on the built command: it shows what `serve` would make of a body, its refusals and its warnings too.

function preview(body: string, yaml: string, env: Readonly<Record<string, string>> = {}, more: readonly string[] = []) {
  const folder = new ConfigFolder();
  const file = folder.write("countersign.yaml", yaml.replaceAll("DIR", folder.path));
  return runWithInput(body, ["preview", "--config", file, "--site", "S1000000003", ...more], plainEnvironment(env));
}

const withLimit = (bodyBytes: number) => edited(["listeners:", `limits: { bodyBytes: ${bodyBytes} }\nlisteners:`]);
const ofLength = (length: number) => JSON.stringify({ note: "a".repeat(length - '{"note":""}'.length) });

describe("limits.bodyBytes", () => {
  it("lets a body of its length through", () => {
    const { exitCode, stdout, stderr } = preview(ofLength(1_024), withLimit(1_024));
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^POST https:\/\/api\.sandbox\.example\/json-api\/create_order\n/);
  });

  it("refuses one byte more, as serve does", () => {
    expect(preview(ofLength(1_025), withLimit(1_024))).toEqual({
      exitCode: 1,
      stdout: "413 body_too_large: The body is longer than 1024 bytes (limits.bodyBytes). Nothing was sent.\n",
      stderr: "",
    });
  });

  it("may be 16 MiB, all of which is read", () => {
    const { exitCode, stdout } = preview(ofLength(16_777_216), withLimit(16_777_216));
    expect({ exitCode, isWhole: stdout.includes(`"note":"${"a".repeat(16_777_216 - 11)}"`) }).toEqual({
      exitCode: 0,
      isWhole: true,
    });
  });
});

it("warns where characters: warn lets a value through, without showing it", () => {
  const yaml = edited(["        keys:", "        characters: warn\n        keys:"]);
  const { exitCode, stdout, stderr } = preview('{"buyer":"Ann Other"}', yaml);
  expect(exitCode).toBe(0);
  expect(stdout).toContain('"signature":"');
  expect(stderr).toBe("The value of buyer has a character at position 4 that the service may refuse.\n");
});

describe("the string to sign", () => {
  const body = '{"order_amount":10,"format":"json","z":true}';

  it("is shown for HMAC, with the key's identifier and without its secret", () => {
    const { exitCode, stdout } = preview(body, edited());
    expect(exitCode).toBe(0);
    const text = "order_amount10.00site_identifierS1000000003timestamp\\d+version3.0ztrue";
    expect(stdout).toMatch(new RegExp(`\n\nstring to sign \\(HMAC-SHA256, key K2000000001\\):\n${text}\n$`));
    expect(stdout).not.toContain(canaries.key);
  });

  it("is what the signature in the body signs", () => {
    const { stdout } = preview(body, edited(), {}, ["--json"]);
    const { body: sent, stringToSign, key } = JSON.parse(stdout);
    const signature = createHmac("sha256", canaries.key).update(stringToSign).digest("hex");
    expect({ signature: JSON.parse(sent).signature, key }).toEqual({ signature, key: "K2000000001" });
  });

  it("is not there for OAuth, nor without a site's own exempt names", () => {
    expect(preview(body, edited(), {}, ["--site", "S1000000001"]).stdout).not.toContain("string to sign");
    const exempting = edited(["        keys:", "        exempt: [z]\n        keys:"]);
    expect(preview(body, exempting).stdout).toMatch(/\nformatjsonorder_amount10\.00site_identifier\S+version3\.0\n$/);
  });
});

it("has the place of a defect, which serve would log", () => {
  const broken = `const { startsWith } = String.prototype;
    String.prototype.startsWith = function (...what) {
      if (what[0] === "\\uFEFF") throw new RangeError("canary");
      return startsWith.apply(this, what);
    };`;
  const env = { NODE_OPTIONS: `--import ${new ConfigFolder().write("broken.mjs", broken)}` };
  const { exitCode, stdout, stderr } = preview("{}", edited(), env);
  expect({ exitCode, stdout }).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(/^500 internal: /) });
  expect(stderr).toMatch(/^A defect in countersign: RangeError at .*broken\.mjs.* at decodeUtf8 /);
  expect(stderr).not.toContain("canary");
});
