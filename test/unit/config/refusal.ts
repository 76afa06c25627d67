import { describe, expect, test } from "vitest";
import { ConfigFolder, edited, sound } from "../../../testkit/config-folder.ts";

interface Around {
  readonly env?: Record<string, string>;
  readonly files?: Record<string, string>;
  /** How many problems there are in all. */
  readonly count?: number;
}

export type Said = readonly [path: string, message: RegExp, fix: RegExp];

/** A configuration with one fault, and what must be said about it. */
interface Refusal extends Around {
  readonly what: string;
  /** The line that must be named carries the comment `# here`. */
  readonly yaml: string;
  readonly said: Said;
}

/** A path that begins with a dot is below the environment `sandbox`. */
export const fault = (what: string, yaml: string, said: Said, around: Around = {}): Refusal => ({
  what,
  yaml,
  said,
  ...around,
});

export const site1 = ".sites.S1000000001";
export const site3 = ".sites.S1000000003";
export const blue = "          - { name: blue, dir: DIR/blue }\n";
export const key = "          - { identifier: K2000000001, secret: { file: DIR/k1 } }\n";
export const listener = '  - { bind: "127.0.0.1:7411", environment: sandbox }\n';
export const baseUrl = "    baseUrl: https://api.sandbox.example/json-api\n";
export const authUrl = "    authUrl: https://login.sandbox.example\n";
export const operations = "    operations: [create_order]\n";
export const admin = 'admin: { bind: ":7412" }\n';
export const status = 'status: { bind: "127.0.0.1:7413" }\n';
export const lineOfSite1 = "      S1000000001:\n";
export const lineOfSite3 = "      S1000000003:\n";

const indentOf = (line: string): string => /^ */.exec(line)?.[0] ?? "";

/** Each of these has the fault in the line that it adds or writes anew. */
export const instead = (line: string, other: string): string => edited([line, `${indentOf(line)}${other} # here\n`]);
const after = (line: string, added: string): string => edited([line, `${line}${added} # here\n`]);
export const inSandbox = (added: string): string => after(operations, `    ${added}`);
export const inSite1 = (added: string): string => after(lineOfSite1, `        ${added}`);
export const inSite3 = (added: string): string => after(lineOfSite3, `        ${added}`);
export const withSet = (set: string): string => instead(blue, `- { ${set} }`);
export const withKey = (entry: string): string => instead(key, `- { ${entry} }`);
export const withSecret = (source: string): string => withKey(`identifier: K2000000001, secret: ${source}`);
export const withListener = (entry: string): string => instead(listener, `- { ${entry} }`);
export const withSecondListener = (entry: string): string => after(listener, `  - { ${entry} }`);
export const withSite = (site: string): string => after("    sites:\n", `      ${site}`);
export const withStatus = (place: string): string => instead(status, `status: { ${place} }`);
export const atTheEnd = (added: string): string => `${sound}${added} # here\n`;

/** The fault is in a line that is there already. */
export const at = (line: string, yaml: string): string => yaml.replace(line, () => line.replace(/\n?$/, " # here\n"));

/** Redis in use, with a sound encryption key. */
export const withRedis = (settings: string): string =>
  atTheEnd(`tokens: { cache: redis }\nredis: { ${settings}, encryptionKeys: [ { file: DIR/token-key } ] }`);

/** Every row is refused for its fault and for nothing else. */
export function itRefuses(what: string, refusals: readonly Refusal[], common: Record<string, string> = {}): void {
  describe(`refuses ${what}`, () => {
    test.each(refusals)("$what", async ({ yaml: text, said: [place, message, fix], env = {}, files, count = 1 }) => {
      const path = place.startsWith(".") ? `environments.sandbox${place}` : place;
      const folder = new ConfigFolder({ ...common, ...files });
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
