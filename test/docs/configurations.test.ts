/** docs/go-live.md: `countersign check` accepts each complete configuration of its table, and the VM's fits the files that Install makes. */
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, it } from "vitest";
import { readDocument } from "../../src/config/files/yaml.ts";
import { emptyFolder } from "../../testkit/empty-folder.ts";
import { isInstalled, nameFor, runCommand, runSync } from "../../testkit/run-program.ts";

const page = readFileSync("docs/go-live.md", "utf8");
const files = [...page.matchAll(/^\| .*\]\(\.\.\/(\S+\.yaml)\) \|$/gm)].map(([, file = ""]) => file);

it("the table has every configuration of the examples, except the one that its own page shows in parts", () => {
  const { stdout } = runSync("git", ["ls-files", "examples/*countersign.yaml", "examples/hmac.yaml"]);
  const examples = stdout
    .trim()
    .split("\n")
    .filter((file) => file !== "examples/authorization-server/countersign.yaml");
  expect(files.toSorted()).toEqual(["deploy/systemd/countersign.yaml", ...examples].toSorted());
});

const hasOpenssl = isInstalled("openssl", "version");
it.runIf(hasOpenssl).each(files)(nameFor(hasOpenssl, "openssl", "check accepts %s"), async (file) => {
  const folder = emptyFolder();
  const config = join(folder, "countersign.yaml");
  cpSync(file, config);
  for (const path of filesOf(readDocument(readFileSync(file, "utf8")).value)) writeSecret(join(folder, path));
  if (file.startsWith("examples/callers/")) runSync("sh", ["examples/callers/make-credentials.sh", folder]);
  const { exitCode, stdout, stderr } = await runCommand(["check", "--config", config]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.not.stringContaining(" fix ") });
  expect(stdout).toMatch(/^ok {2}127\.0\.0\.1:7411 leads to /m);
});

it("the VM's configuration names just the secret that docs/install.md puts beside it", () => {
  const install = readFileSync("docs/install.md", "utf8");
  const put = [...install.matchAll(/^install -o root -g countersign -m 640 (\S+) \/etc\/countersign\/(\S*)$/gm)];
  const named = filesOf(readDocument(readFileSync("deploy/systemd/countersign.yaml", "utf8")).value);
  expect(put.map(([, from, to]) => `${to}${from}`)).toEqual(["countersign.yaml", ...named]);
});

/** The files that a configuration names, relative to it. */
function filesOf(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (typeof inner !== "string") return filesOf(inner);
    if (key === "dir") return ["client-id", "client-secret", "audience"].map((name) => join(inner, name));
    return key === "file" ? [inner] : [];
  });
}

/** A text of its own for each file: an identifier, a secret, or a key of Redis. Some have another form. */
function writeSecret(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const digest = createHash("sha256").update(file).digest("hex");
  const forms: Readonly<Record<string, string>> = {
    "client-id": digest.slice(0, 16),
    audience: "https://api.example",
    "proxy-auth": "user:password",
  };
  writeFileSync(file, forms[basename(file)] ?? digest, { mode: 0o600 });
}
