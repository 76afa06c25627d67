import { readdirSync, readlinkSync } from "node:fs";
import { join, posix } from "node:path";

export interface ImageFile {
  /** Where it lies on this machine. */
  readonly source: string;
  /** What it points to, where it is a symbolic link. */
  readonly target?: string;
}

export type Files = ReadonlyMap<string, ImageFile>;

/** More than any image has links behind one another; the kernel's own limit. */
const mostLinks = 40;

/** The files and symbolic links below a folder, by their absolute paths in the image. */
export function listFiles(root: string): Files {
  return new Map(listFolder(root, "/"));
}

/** No link is followed: `readdirSync` with `recursive` follows those to folders. */
function listFolder(root: string, folder: string): [string, ImageFile][] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name);
    const source = join(root, path);
    if (entry.isDirectory()) return listFolder(root, path);
    return [[path, entry.isSymbolicLink() ? { source, target: readlinkSync(source) } : { source }]];
  });
}

/** Where a path leads, with every link on its way followed inside the image; nowhere, if links go round in circles. */
export function followLinks(files: Files, path: string): string | undefined {
  let reached = "/";
  let links = 0;
  const ahead = path.split("/").filter(Boolean);
  for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
    const next = posix.join(reached, name);
    const target = files.get(next)?.target;
    if (target === undefined) {
      reached = next;
      continue;
    }
    links += 1;
    if (links > mostLinks) return undefined;
    if (target.startsWith("/")) reached = "/";
    ahead.unshift(...target.split("/").filter(Boolean));
  }
  return reached;
}
