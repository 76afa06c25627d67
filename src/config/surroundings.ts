/** A file as far as the configuration cares. */
export interface FileContent {
  readonly bytes: Buffer;
  /** Permission bits. */
  readonly mode: number;
}

/** What the configuration is read from beside its own text; injected, so that load.ts is the only reader of files. */
export interface ConfigSurroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** @throws with a `code` such as ENOENT */
  readFile(path: string): Promise<FileContent>;
  /** Paths that are mounted by themselves: a `subPath` mount of Kubernetes is never updated. */
  readonly mountPoints: ReadonlySet<string>;
}
