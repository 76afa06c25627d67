import { readFileSync } from "node:fs";

/**
 * Node's options in the image, for a container of this size. Node 24 takes V8's share of the memory as a percentage, earlier
 * versions in MiB only.
 */
export function imageOptions(memoryBytes: number): string[] {
  const [, entrypoint = ""] = /^ENTRYPOINT (.*)$/m.exec(readFileSync("Dockerfile", "utf8")) ?? [];
  const options: string[] = JSON.parse(entrypoint).slice(1, -1);
  if (!/-percentage=\d+$/.test(options[0] ?? "")) throw new Error("the image sets no share of the memory");
  return options.map((option) =>
    option.replace(/-percentage=(\d+)$/, (_, percent) => `=${((memoryBytes / 1_048_576) * percent) / 100}`),
  );
}

/** The image's environment variables for Node and its C library. */
export function imageVariables(): Record<string, string> {
  const all = readFileSync("Dockerfile", "utf8").matchAll(/^ENV ((?:UV|MALLOC)_\w+)=(\d+)$/gm);
  return Object.fromEntries([...all].map(([, name, value]) => [name, value]));
}
