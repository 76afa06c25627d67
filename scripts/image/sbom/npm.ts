import { at, type Component, packageUrl } from "./component.ts";

/** An entry of package-lock.json. */
export interface LockedPackage {
  readonly version?: string;
  /** An SPDX expression. */
  readonly license?: string;
  /** `sha512-…`, the rest in Base64. */
  readonly integrity?: string;
}

/**
 * A package that is bundled into our program. Its own package.json may say another version than the registry does (redlock:
 * v5.0.0-beta.2), so the lockfile is asked.
 */
export function npmPackage(
  name: string,
  files: readonly string[],
  locked: Readonly<Record<string, LockedPackage>>,
): Component {
  const { version, license, integrity = "" } = locked[`node_modules/${name}`] ?? {};
  const [, digest] = /^sha512-(.+)$/.exec(integrity) ?? [];
  if (version === undefined || license === undefined || digest === undefined) {
    throw new Error(`package-lock.json lacks the version, licence or digest of ${name}, which is bundled`);
  }
  const purl = packageUrl("npm", name, version);
  const component: Component = {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    hashes: [{ alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") }],
    licenses: [{ expression: license }],
    purl,
  };
  return at(
    component,
    files.map((file) => `/app/dist/${file}`),
  );
}
