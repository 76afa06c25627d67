/** Debian's packages as distroless images record them: a folder with a control file for each, and the digests of its files. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { type Component, packageUrl } from "./component.ts";
import { type Files, followLinks } from "./files.ts";

const records = "/var/lib/dpkg/status.d";
const digests = ".md5sums";

interface Distribution {
  /** Like `debian`. */
  readonly id: string;
  /** Like `12`. */
  readonly version: string;
}

/** The distribution itself: a scanner asks it which advisories hold. */
export function operatingSystem(files: Files): { readonly distribution: Distribution; readonly component: Component } {
  const path = followLinks(files, "/etc/os-release") ?? "";
  const file = files.get(path);
  if (file === undefined)
    throw new Error("the base image has no /etc/os-release, so nobody could tell what its packages are");
  const fields = new Map(
    [...readFileSync(file.source, "utf8").matchAll(/^(\w+)="?(.*?)"?$/gm)].map(([, name = "", value = ""]) => [
      name,
      value,
    ]),
  );
  const distribution = { id: fields.get("ID") ?? "", version: fields.get("VERSION_ID") ?? "" };
  const { id: name, version } = distribution;
  return {
    distribution,
    component: { type: "operating-system", "bom-ref": `os:${name}@${version}`, name, version },
  };
}

/** The packages of a base image, each with the paths of its files and of its record. */
export function debianPackages(base: Files, { id, version }: Distribution): [Component, readonly string[]][] {
  const names = [...base.keys()].filter((path) => posix.dirname(path) === records && !path.endsWith(digests)).sort();
  if (names.length === 0) throw new Error(`the base image has no records of Debian's packages in ${records}`);
  return names.map((path) => {
    const fields = readControl(read(base, path));
    const sourceOf = /^\S+/.exec(fields.get("Source") ?? "")?.[0];
    const qualifiers = {
      arch: fields.get("Architecture") ?? "",
      distro: `${id}-${version}`,
      ...(sourceOf === undefined ? {} : { upstream: sourceOf }),
    };
    const [name, release] = [fields.get("Package") ?? "", fields.get("Version") ?? ""];
    const purl = packageUrl(`deb/${id}`, name, release, qualifiers);
    const supplier = fields.get("Maintainer");
    const component: Component = {
      type: "library",
      "bom-ref": purl,
      ...(supplier === undefined ? {} : { supplier: { name: supplier } }),
      name,
      version: release,
      purl,
    };
    const list = `${path}${digests}`;
    return [component, base.has(list) ? [path, list, ...filesOf(base, list)] : [path]];
  });
}

/** Only what still has the package's bytes: what the base image's makers have changed is theirs. */
function filesOf(base: Files, list: string): string[] {
  return [...read(base, list).matchAll(/^([0-9a-f]{32}) [ *](.+)$/gm)].flatMap(([, digest, name = ""]) => {
    const path = followLinks(base, `/${name}`) ?? "";
    const file = base.get(path);
    const isSame = file !== undefined && createHash("md5").update(readFileSync(file.source)).digest("hex") === digest;
    return isSame ? [path] : [];
  });
}

/** The fields of a control file's paragraph, as its first line has them (deb822). */
function readControl(text: string): Map<string, string> {
  return new Map([...text.matchAll(/^([\w-]+):[ \t]*(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]));
}

function read(files: Files, path: string): string {
  return readFileSync(files.get(path)?.source ?? path, "utf8");
}
