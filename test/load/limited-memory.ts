import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { expect, onTestFinished } from "vitest";

/** A memory limit of the kernel's, as a container has one. */
export interface MemoryLimit {
  /** The command that runs another one within the limit. */
  wrap(command: string, args: readonly string[]): readonly [command: string, args: readonly string[]];
  /** How many processes the kernel has killed for want of memory. */
  kills(): number;
}

const versions = [
  { root: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes", events: "memory.oom_control" },
  { root: "/sys/fs/cgroup", limit: "memory.max", events: "memory.events" },
] as const;

/** A cgroup (v1 or v2) that goes with the test; undefined where this process may not make one. Call it before anything that runs in it. */
export function limitMemory(bytes: number): MemoryLimit | undefined {
  for (const version of versions) {
    const folder = `${version.root}/countersign-test-${process.pid}-${Math.floor(performance.now())}`;
    try {
      mkdirSync(folder);
    } catch {
      continue;
    }
    onTestFinished(() => rmdirSync(folder));
    try {
      writeFileSync(`${folder}/${version.limit}`, String(bytes));
    } catch {
      continue;
    }
    return {
      wrap: (command, args) => ["sh", ["-c", `echo $$ > ${folder}/cgroup.procs; exec "$0" "$@"`, command, ...args]],
      kills: () => Number(/^oom_kill (\d+)$/m.exec(readFileSync(`${folder}/${version.events}`, "utf8"))?.[1]),
    };
  }
  return undefined;
}

/**
 * Node's options in the image, for a container of this size. Node 24 takes the part of the memory that V8 gets as a percentage,
 * earlier ones in MiB only.
 */
export function imageOptions(memoryBytes: number): string[] {
  const [, entrypoint = ""] = /^ENTRYPOINT (.*)$/m.exec(readFileSync("Dockerfile", "utf8")) ?? [];
  const options: string[] = JSON.parse(entrypoint).slice(1, -1);
  expect(options[0]).toMatch(/-percentage=\d+$/);
  return options.map((option) =>
    option.replace(/-percentage=(\d+)$/, (_, percent) => `=${((memoryBytes / 1_048_576) * percent) / 100}`),
  );
}
