import { describe, expect, test } from "vitest";
import { ConfigFolder, edited, sound } from "../../../testkit/config-folder.ts";

/** A configuration with one fault, and the expected message. */
interface Refusal {
  readonly yaml: string;
  readonly said: string;
  readonly files: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  /** How many problems there are in all. */
  readonly count: number;
}

/**
 * @param yaml the line that the message must name has the comment `# here`
 * @param said a place, and words of the message and of its fix in their order: `redis.url: no TLS … write rediss://`. A place
 * that begins with a dot is below the environment `sandbox`.
 */
export function fault(yaml: string, said: string, files: Refusal["files"] = {}, env: Refusal["env"] = {}): Refusal {
  return { yaml, said, files, env, count: 1 };
}

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

/** These functions put the fault into the line that they add or replace. */
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

/** Marks a present line as the one with the fault. */
export const at = (line: string, yaml: string): string => yaml.replace(line, () => line.replace(/\n?$/, " # here\n"));

/** The sound configuration with this Redis section. */
export const redisWith = (settings: string): string => atTheEnd(`tokens: { cache: redis }\nredis: { ${settings} }`);
/** The same with a sound encryption key. */
export const withRedis = (settings: string): string =>
  redisWith(`${settings}, encryptionKeys: [ { file: DIR/token-key } ]`);

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function patternOf(line: number, said: string): RegExp {
  const [, place = "", words = ""] = /^(.*?): (.*)$/.exec(said) ?? expect.unreachable(said);
  const path = place.startsWith(".") ? `environments.sandbox${place}` : place;
  return new RegExp(`^${line} ${escaped(path)}: .*${words.split(" … ").map(escaped).join(".*")}`, "s");
}

/** Each configuration is refused for its fault and for nothing else. */
export function itRefuses(what: string, refusals: readonly Refusal[]): void {
  describe(`refuses ${what}`, () => {
    test.each(refusals.map((each) => [each.said, each] as const))("%s", async (said, { yaml, files, env, count }) => {
      const folder = new ConfigFolder(files);
      const problems = await folder.problemsOf(yaml, { env });
      const line = yaml.split("\n").findIndex((each) => each.includes("# here")) + 1;
      const texts = problems.map(({ line, path, message, fix }) => `${line} ${path}: ${message}; ${fix}`);
      expect(texts).toContainEqual(expect.stringMatching(patternOf(line, said)));
      expect(JSON.stringify(problems)).not.toContain("canary");
      expect(problems).toHaveLength(count);
    });
  });
}
