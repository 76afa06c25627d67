import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";

/** Limits that the kernel enforces, as for a container: a cgroup, v1 or v2. */
export interface KernelLimits {
  /** The command that runs another one within the limits. */
  wrap(command: string, args: readonly string[]): readonly [command: string, args: readonly string[]];
  /** How many processes the kernel has killed for lack of memory. */
  kills(): number;
  /** Removes the limits; allowed once no process runs within them. */
  remove(): void;
}

interface Sizes {
  readonly memoryBytes: number;
  /** Processors, such as 0.1; all of them if absent. */
  readonly cpus?: number;
}

const root = "/sys/fs/cgroup";
const periodUs = 100_000;

/** The folders of a cgroup, each with the values written into it, and the file that counts kills. */
const versions = [
  ({ memoryBytes, cpus }: Sizes, name: string) => ({
    folders: {
      [`${root}/memory/${name}`]: { "memory.limit_in_bytes": memoryBytes },
      ...(cpus === undefined ? {} : { [`${root}/cpu/${name}`]: { "cpu.cfs_quota_us": cpus * periodUs } }),
    },
    events: `${root}/memory/${name}/memory.oom_control`,
  }),
  ({ memoryBytes, cpus }: Sizes, name: string) => ({
    folders: {
      [`${root}/${name}`]: {
        "memory.max": memoryBytes,
        ...(cpus === undefined ? {} : { "cpu.max": `${cpus * periodUs} ${periodUs}` }),
      },
    },
    events: `${root}/${name}/memory.events`,
  }),
];

/** Creates such limits; undefined if this process is not allowed to. Call it before the processes that are to be limited start. */
export function limitProcesses(sizes: Sizes): KernelLimits | undefined {
  const name = `countersign-${process.pid}-${Math.floor(performance.now() * 1_000)}`;
  for (const version of versions) {
    const { folders, events } = version(sizes, name);
    const paths = Object.keys(folders);
    const remove = () => {
      for (const path of paths) rmdirSync(path);
    };
    try {
      for (const [path, files] of Object.entries(folders)) {
        mkdirSync(path);
        for (const [file, value] of Object.entries(files)) writeFileSync(`${path}/${file}`, String(value));
      }
    } catch {
      continue;
    }
    const join = paths.map((path) => `echo $$ > ${path}/cgroup.procs; `).join("");
    return {
      remove,
      wrap: (command, args) => ["sh", ["-c", `${join}exec "$0" "$@"`, command, ...args]],
      kills: () => Number(/^oom_kill (\d+)$/m.exec(readFileSync(events, "utf8"))?.[1]),
    };
  }
  return undefined;
}
