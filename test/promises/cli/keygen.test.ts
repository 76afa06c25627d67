import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ConfigFolder, sound } from "../../../testkit/config-folder.ts";
import { runCommand, runToEnd } from "../../../testkit/run-program.ts";

// The built command makes a new key each time, which `check` accepts, in a file of its owner only; it overwrites no file.

const key = /^[0-9a-f]{64}\n$/;

const run = (...args: readonly string[]) => runCommand(args);

it("prints only 64 hex digits, new ones each time; check accepts the key and does not show it", async () => {
  const folder = new ConfigFolder();
  const keys = await Promise.all([run("keygen"), run("keygen")]);
  for (const each of keys) expect(each).toEqual({ exitCode: 0, stdout: expect.stringMatching(key), stderr: "" });
  const [one = "", other = ""] = keys.map(({ stdout }) => stdout);
  expect(one).not.toBe(other);
  folder.write("one", one);
  folder.write("other", other);
  const checked = await checkWith(folder, "one", "other");
  expect(checked).toMatchObject({ exitCode: 0, stderr: "" });
  for (const line of ["url: rediss://cache:6379", "- file: one", "- file: other"]) {
    expect(checked.stdout).toContain(`${line}\n`);
  }
  for (const each of [one, other]) expect(checked.stdout).not.toContain(each.trim());
});

it("writes a key into a file that only its owner may read, and says what to configure", async () => {
  const folder = new ConfigFolder();
  const file = join(folder.path, "new-key");
  // With a umask that would give the file to everybody.
  const command = `umask 0; exec "${process.execPath}" dist/main.js keygen --out "${file}"`;
  const { stdout, ...ended } = await runToEnd("/bin/sh", ["-c", command]);
  expect(ended).toEqual({ exitCode: 0, stderr: "" });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const written = readFileSync(file, "utf8");
  expect(written).toMatch(key);
  expect(stdout).not.toContain(written.trim());
  expect(stdout).toContain(`redis:\n  encryptionKeys:\n    - file: ${file}\n`);
  expect((await checkWith(folder, file)).exitCode).toBe(0);
});

it("keeps a file that exists, and says so", async () => {
  const folder = new ConfigFolder();
  const file = folder.write("new-key", "an older key");
  const stderr = expect.stringMatching(/new-key exists already and stays as it is: .*\. Name a new file\.\n$/);
  expect(await run("keygen", "--out", file)).toEqual({ exitCode: 1, stdout: "", stderr });
  expect(readFileSync(file, "utf8")).toBe("an older key");
});

it("reports a folder that does not exist", async () => {
  const file = join(new ConfigFolder().path, "nothing", "new-key");
  const stderr = expect.stringContaining(`${file} cannot be written (ENOENT).`);
  expect(await run("keygen", "--out", file)).toEqual({ exitCode: 1, stdout: "", stderr });
});

it("gives programs JSON: the key, or where it is and what to configure", async () => {
  const printed = await run("keygen", "--json");
  expect(printed).toMatchObject({ exitCode: 0, stderr: "" });
  expect(JSON.parse(printed.stdout)).toEqual({ key: expect.stringMatching(/^[0-9a-f]{64}$/) });

  const file = join(new ConfigFolder().path, "new-key");
  const written = await run("keygen", "--json", "--out", file);
  expect(written).toMatchObject({ exitCode: 0, stderr: "" });
  expect(JSON.parse(written.stdout)).toEqual({ file, configuration: { redis: { encryptionKeys: [{ file }] } } });
  expect(readFileSync(file, "utf8")).toMatch(key);
});

function checkWith(folder: ConfigFolder, ...keys: readonly string[]) {
  const sources = keys.map((file) => `{ file: ${file} }`).join(", ");
  const redis = `redis: { url: "rediss://cache:6379", encryptionKeys: [ ${sources} ] }`;
  return run("check", "--print", "--config", folder.writeYaml(`${sound}tokens: { cache: redis }\n${redis}\n`));
}
