import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { readDocument } from "../../src/config/document.ts";
import { configSchema } from "../../src/config/schema.ts";
import { failureCodes } from "../../src/errors.ts";

const readme = readFileSync("README.md", "utf8");

/** The documents whose links must lead somewhere. */
const documents = ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/security.md", "bench/README.md"];

it("has the references that the code says", () => {
  const { status, stderr } = spawnSync(process.execPath, ["scripts/references.mjs", "--check"], { encoding: "utf8" });
  expect(stderr).toBe("");
  expect(status).toBe(0);
});

it.each(documents)("has only links that lead somewhere: %s", (document) => {
  const text = readFileSync(document, "utf8");
  const targets = [...text.matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)].map(([, target = ""]) => target);
  const lost = targets.filter((target) => !existsSync(join(dirname(document), target)));
  expect(lost).toEqual([]);
});

describe("the journey's table", () => {
  const rows = readme.split("\n").filter((line) => /^\| .* \| \[`src\//.test(line));

  it("names files that exist", () => {
    expect(rows.length).toBeGreaterThan(10);
  });

  it("says where each failure comes from", () => {
    const named = new Set(
      rows.flatMap((row) => [...(row.split("|")[3] ?? "").matchAll(/`(\w+)`/g)].map(([, code]) => code)),
    );
    expect([...named].filter((code) => !(failureCodes as readonly string[]).includes(code ?? ""))).toEqual([]);
    expect(failureCodes.filter((code) => !named.has(code))).toEqual([]);
  });

  it("names, for each step, failures that its file throws or that end there", () => {
    for (const row of rows) {
      const [, file = ""] = /\(([^)]+)\)/.exec(row) ?? [];
      const codes = [...(row.split("|")[3] ?? "").matchAll(/`(\w+)`/g)].map(([, code = ""]) => code);
      const missing = codes.filter((code) => !mentions(file, code));
      expect({ file, missing }).toEqual({ file, missing: [] });
    }
  });
});

it("shows a configuration that the schema takes", () => {
  const [, yaml = ""] = /```yaml\n([\s\S]*?)```/.exec(readme) ?? [];
  expect(configSchema.safeParse(readDocument(yaml).value).error?.issues ?? []).toEqual([]);
});

/** The step's file, or a file beside it that it calls. */
function mentions(file: string, code: string): boolean {
  const folder = dirname(file);
  const text = readFileSync(file, "utf8");
  const beside = [...text.matchAll(/from "\.\/([^"]+)"/g)].map(([, name = ""]) => join(folder, name));
  const upstream = file.endsWith("forward.ts")
    ? ["src/adapters/undici/attempt.ts", "src/adapters/undici/transport-error.ts"]
    : [];
  return [file, ...beside, ...upstream].some((path) => readFileSync(path, "utf8").includes(`"${code}"`));
}
