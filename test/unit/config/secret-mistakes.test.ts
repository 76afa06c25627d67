/**
 * What does not show in a secret is named with its place, and never the secret; a text that is not UTF-8 is refused, since
 * it would be sent as another text. The key of an HMAC may be of any bytes.
 */
import { describe, expect, test } from "vitest";
import { clientKey } from "../../../testkit/certificates.ts";
import { ConfigFolder, edited, sound, tokenKey } from "../../../testkit/config-folder.ts";
import { withSet } from "./refusal.ts";

const plain = "canary-secret-of-good-length";

/** Every place of a text that is secret; `S` stands for its source. */
const places: Readonly<Record<string, readonly [yaml: string, good?: string]>> = {
  "a client secret": [edited(["name: blue, dir: DIR/blue", "name: blue, clientId: c, audience: a, clientSecret: S"])],
  "a private key": [
    withSet("name: blue, clientId: c, audience: a, privateKey: S, token: { clientAuth: private_key_jwt }"),
    clientKey,
  ],
  "a caller's token": [
    edited(['7411", environment: sandbox', '7411", environment: sandbox, callers: { shop: { token: S } }']),
  ],
  "Redis's password": [
    `${sound}tokens: { cache: redis }\nredis: { url: rediss://a, password: S, encryptionKeys: [ { file: DIR/token-key } ] }\n`,
  ],
  "Sentinel's password": [
    `${sound}tokens: { cache: redis }\nredis: { sentinel: { name: m, nodes: ["a:1"], password: S }, encryptionKeys: [ { file: DIR/token-key } ] }\n`,
  ],
  "an encryption key": [
    `${sound}tokens: { cache: redis }\nredis: { url: rediss://a, encryptionKeys: [ S ] }\n`,
    tokenKey,
  ],
  "a proxy's password": [
    edited(["    operations", "    egress: { proxy: 'http://p:3128', auth: S }\n    operations"]),
    "user:canary-secret-of-good-length",
  ],
  "a collector's header": [
    `${sound}tracing: { otlp: { endpoint: "http://127.0.0.1:4318/v1/traces", headers: { x-key: S } } }\n`,
  ],
};

describe.each(Object.entries(places))("%s is refused", (_, [yaml, good = plain]) => {
  test.each([
    ["UTF-16", utf16(good, "LE", "\ufeff")],
    ["UTF-16", utf16(good, "BE", "\ufeff")],
    ["UTF-16", utf16(good, "LE")],
    ["UTF-16", utf16(`${good}\r\n`, "BE")],
    ["not UTF-8", Buffer.from(`${good}\u00e9`, "latin1")],
    ["not UTF-8", Buffer.from([...Buffer.from(good), 0xed, 0xa0, 0x80])],
  ])("as %s", async (encoding, bytes) => {
    expect(await problemsWith(yaml, bytes)).toEqual([
      expect.stringMatching(`^the secret is ${encoding}; file .*/secret; write it as UTF-8`),
    ]);
  });

  test("not as UTF-8", async () => expect(await problemsWith(yaml, good)).toEqual([]));
});

async function warningsOf(yaml: string, files: Readonly<Record<string, Buffer | string>>, env = {}): Promise<string[]> {
  const folder = new ConfigFolder();
  for (const [name, content] of Object.entries(files)) folder.write(name, content);
  const { warnings } = await folder.loadSound(yaml, { env });
  expect(JSON.stringify(warnings)).not.toMatch(/canary|lesecret/);
  return warnings
    .filter(({ code }) => code === "secret_not_plain")
    .map(({ message }) => message.replace(/^.* has what does not show: /, ""));
}

const unseen: readonly (readonly [before: string, character: string, name: string])[] = [
  ["canary-", "\u00a0", "no-break space (U+00A0)"],
  ["canary-", "\u202f", "narrow no-break space (U+202F)"],
  ["canary-", "\u3000", "invisible character (U+3000)"],
  ["canary-", "\u200b", "zero-width space (U+200B)"],
  ["canary-", "\u200d", "zero-width joiner (U+200D)"],
  ["canary-", "\u2060", "word joiner (U+2060)"],
  ["canary-", "\u00ad", "soft hyphen (U+00AD)"],
  ["canary-", "\u202e", "invisible character (U+202E)"],
  ["canary-", "\u2066", "invisible character (U+2066)"],
  ["canary-", "\u2028", "line separator (U+2028)"],
  ["canary-", "\u3164", "invisible character (U+3164)"],
  ["canary-", "\ufe0f", "invisible character (U+FE0F)"],
  ["canary-\u{1f511}", "\u{e0041}", "invisible character (U+E0041)"],
  ["canary-", "\ufffd", "replacement character (U+FFFD)"],
  ["canary-", "\n", "line break (U+000A)"],
  ["canary-", "\r", "carriage return (U+000D)"],
  ["canary-", "\t", "tab (U+0009)"],
  ["canary-", "\0", "NUL (U+0000)"],
  ["canary-", "\u001b", "control character (U+001B)"],
  ["canary-", "\u0085", "control character (U+0085)"],
  ["", "\ufeff", "byte order mark (U+FEFF)"],
  ["", " ", "blank (U+0020)"],
];

describe.each([
  ["a client secret", "blue/client-secret", sound],
  ["the key of an HMAC", "k1", sound],
])("%s is used, with a warning, if it has", (_, file, yaml) => {
  test.each(unseen)("%j %j", async (before, character, name) => {
    const place = `${name} at character ${[...before].length + 1}`;
    expect(await warningsOf(yaml, { [file]: `${before}${character}lesecret-of-length` })).toEqual([place]);
  });

  test("many of them", async () => {
    const [first, ...others] = await warningsOf(yaml, {
      [file]: `canary\u200b\u200b\u200blesecret\u00a0of\u00a0\u00a0good length \n`,
    });
    expect(others).toEqual([]);
    expect(first).toMatch(/^zero-width space \(U\+200B\) at character 7, (.+, ){3}.* at character 21 and 2 more$/);
  });

  test("quotes and a character that does not show", async () => {
    expect(await warningsOf(yaml, { [file]: '"canary\u200blesecret-of-length"\n' })).toEqual([
      "zero-width space (U+200B) at character 8",
      expect.stringContaining("stands in quotes"),
    ]);
  });
});

const fromVariable = edited(["{ file: DIR/k1 }", "{ env: API_KEY }"]);

test("a variable is judged as a file is", async () => {
  const env = { API_KEY: "canary\u200blesecret-of-length" };
  expect(await warningsOf(fromVariable, {}, env)).toEqual(["zero-width space (U+200B) at character 7"]);
});

test("a variable whose bytes are lost is refused, also as the key of an HMAC", async () => {
  const problems = await new ConfigFolder().problemsOf(fromVariable, { env: { API_KEY: `${plain}\ufffd` } });
  expect(problems).toMatchObject([{ message: "the secret is not UTF-8", found: "env API_KEY" }]);
});

test.each([
  ["UTF-16", utf16(plain, "LE", "\ufeff")],
  ["UTF-16", utf16(plain, "BE")],
  ["not UTF-8", Buffer.from([0x80, 0x81, ...Buffer.from("lesecret-of-length")])],
])("the key of an HMAC that is %s is used byte by byte, with a warning", async (encoding, bytes) => {
  const said = expect.stringMatching(`/k1 is ${encoding}, and its bytes are the key as they stand$`);
  expect(await warningsOf(sound, { k1: bytes })).toEqual([said]);
});

test("the lines of a private key, and of a user name with its password, are no mistake", async () => {
  const [yaml] = places["a private key"] ?? [""];
  const byKey = yaml.replace("privateKey: S", "privateKey: { file: DIR/key }");
  expect(await warningsOf(byKey, { key: clientKey.replaceAll("\n", "\r\n") })).toEqual([]);
  const both = "username: { file: DIR/login }, password: { file: DIR/login }";
  const redis = `tokens: { cache: redis }\nredis: { url: rediss://a, ${both}, encryptionKeys: [ { file: DIR/token-key } ] }\n`;
  expect(await warningsOf(`${sound}${redis}`, { login: "user\ncanary-password-of-redis\n" })).toEqual([]);
});

test.each([
  ["blue\u200b-id", "zero-width space (U+200B) at character 5"],
  ["blue-id\n\n", "line break (U+000A) at character 8"],
  [utf16("blue-id", "LE", "\ufeff"), "UTF-16"],
])("a client id that is not plain is refused with the place: %j", async (content, reason) => {
  const folder = new ConfigFolder();
  folder.write("blue/client-id", content);
  const message = `the client id is not one line of printable text: ${reason}`;
  expect(await folder.problemsOf(sound)).toMatchObject([{ message, found: expect.stringMatching("/blue/client-id$") }]);
});

function utf16(text: string, end: "LE" | "BE", mark = "") {
  const bytes = Buffer.from(mark + text, "utf16le");
  return end === "LE" ? bytes : bytes.swap16();
}

async function problemsWith(yaml: string, bytes: Buffer | string): Promise<string[]> {
  const folder = new ConfigFolder();
  folder.write("secret", bytes);
  const problems = await folder.problemsOf(yaml.replace(/\bS(?= [,}\]]| \]|,)/, "{ file: DIR/secret }"));
  expect(JSON.stringify(problems)).not.toMatch(/canary|c\\u0000a/);
  return problems.map(({ message, found, fix }) => `${message}; ${found}; ${fix}`);
}
