import { describe, expect, test } from "vitest";
import { ConfigFolder, edited, sound, tokenKey } from "../../../testkit/config-folder.ts";

/** A configuration with one fault, and what must be said about it. */
export interface Refusal {
  readonly what: string;
  /** The line that must be named carries the comment `# here`. */
  readonly yaml: string;
  readonly path: string;
  readonly message: RegExp;
  readonly fix: RegExp;
  readonly env?: Record<string, string>;
  readonly files?: Record<string, string>;
  /** How many problems there are in all. */
  readonly count?: number;
}

export const site1 = "environments.sandbox.sites.S1000000001";
export const site3 = "environments.sandbox.sites.S1000000003";
export const blue = "          - { name: blue, dir: DIR/blue }\n";
export const key = "          - { identifier: K2000000001, secret: { file: DIR/k1 } }\n";
export const listener = '  - { bind: "127.0.0.1:7411", environment: sandbox }\n';
export const inSandbox = "    operations: [create_order]\n";
export const inSite1 = "      S1000000001:\n";
export const inSite3 = "      S1000000003:\n";

/** After a line, in its block. */
export const after = (line: string, added: string): string => edited([line, `${line}${added}\n`]);
export const instead = (line: string, other: string): string => edited([line, `${other}\n`]);
export const atTheEnd = (added: string): string => `${sound}${added}\n`;

/** Redis in use, with a sound encryption key. */
export const withRedis = (settings: string): string =>
  atTheEnd(`tokens: { cache: redis }\nredis: { ${settings}, encryptionKeys: [ { file: DIR/token-key } ] } # here`);

/** Every row is refused for its fault and for nothing else. */
export function itRefuses(what: string, refusals: readonly Refusal[]): void {
  describe(`refuses ${what}`, () => {
    test.each(refusals)("$what", async ({ yaml: text, path, message, fix, env = {}, files = {}, count = 1 }) => {
      const folder = new ConfigFolder();
      folder.write("token-key", tokenKey);
      for (const [name, content] of Object.entries(files)) folder.write(name, content);
      const problems = await folder.problemsOf(text, { env });
      const line = text.split("\n").findIndex((each) => each.includes("# here")) + 1;
      expect(problems.map((problem) => [problem.path, problem.line])).toContainEqual([path, line]);
      const problem = problems.find((each) => each.path === path && each.line === line);
      expect(problem?.message).toMatch(message);
      expect(problem?.fix).toMatch(fix);
      expect(JSON.stringify(problems)).not.toContain("canary");
      expect(problems).toHaveLength(count);
    });
  });
}
