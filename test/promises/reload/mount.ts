import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A folder as kubelet mounts a Secret: each file is a link through `..data`, which is swapped as a whole. */
export class Mount {
  readonly path: string;
  #content: Readonly<Record<string, string>> = {};
  #generation = 0;

  constructor(path: string, content: Readonly<Record<string, string>>) {
    this.path = path;
    mkdirSync(path, { recursive: true });
    this.update(content);
  }

  /** Swaps in a folder with these files changed; other files stay as they were. */
  update(change: Readonly<Record<string, string>>): void {
    this.#content = { ...this.#content, ...change };
    const before = `..generation_${this.#generation}`;
    this.#generation += 1;
    const now = `..generation_${this.#generation}`;
    mkdirSync(join(this.path, now));
    for (const [name, text] of Object.entries(this.#content)) {
      writeFileSync(join(this.path, now, name), text);
      chmodSync(join(this.path, now, name), 0o640);
    }
    symlinkSync(now, join(this.path, "..data_tmp"));
    renameSync(join(this.path, "..data_tmp"), join(this.path, "..data"));
    for (const name of Object.keys(change)) {
      rmSync(join(this.path, name), { force: true });
      symlinkSync(join("..data", name), join(this.path, name));
    }
    rmSync(join(this.path, before), { recursive: true, force: true });
  }
}
