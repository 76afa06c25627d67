/** The bill of materials of a whole image: what the base brings, Node, and what is bundled into our programs. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { at, type Bill, type Component, packageUrl } from "./component.ts";
import { debianPackages, operatingSystem } from "./debian.ts";
import { type Files, followLinks, listFiles } from "./files.ts";
import { nodeItself, partsOfNode } from "./node.ts";
import { type LockedPackage, npmPackage } from "./npm.ts";

export interface Parts {
  /** Of the image: `countersign` or `countersign-simulator`. */
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** As the Dockerfile names it. */
  readonly baseName: string;
  /** Folders with the files of the base image, of the layer that both images have, and of this image's own. */
  readonly base: string;
  readonly runtime: string;
  readonly own: string;
  /** The files of /app/dist that each npm package is in, by its name, as the bundler says. */
  readonly bundled: Readonly<Record<string, readonly string[]>>;
  /** The lockfile's packages by their paths. */
  readonly locked: Readonly<Record<string, LockedPackage>>;
  /** Of the very Node that the image has. */
  readonly versions: Readonly<NodeJS.ProcessVersions>;
}

/** Where the bill lies in an image. Scanners look for names that end so. */
export const billPath = "/usr/local/share/sbom/countersign.cdx.json";
const nodePath = "/usr/local/bin/node";
const healthcheckPath = "/usr/local/bin/healthcheck";

export function makeBill(parts: Parts): Bill {
  const base = listFiles(parts.base);
  const runtime = listFiles(parts.runtime);
  const own = listFiles(parts.own);
  const all: Files = new Map([...base, ...runtime, ...own]);

  const { distribution, component: system } = operatingSystem(base);
  const debian = debianPackages(base, distribution);
  const baseImage = describeBase(parts.baseName);
  const node = nodeItself(parts.versions, sha256Of(runtime, nodePath));
  const ofNode = partsOfNode(parts.versions);
  const program = describeProgram(parts);
  const healthcheck: Component = {
    ...ours("countersign-healthcheck", parts.version),
    hashes: [{ alg: "SHA-256", content: sha256Of(runtime, healthcheckPath) }],
  };
  // The simulator has parts of the proxy in it.
  const library =
    parts.name === "countersign"
      ? []
      : [{ ...ours("countersign", parts.version), purl: packageUrl("npm", "countersign", parts.version) }];
  const npm = Object.entries(parts.bundled).map(([name, files]) => npmPackage(name, files, parts.locked));

  const owners = new Map<string, Component>();
  for (const path of base.keys()) owners.set(path, baseImage);
  for (const [component, paths] of debian) for (const path of paths) owners.set(path, component);
  owners.set(nodePath, node).set(healthcheckPath, healthcheck);
  for (const path of [...own.keys(), billPath]) owners.set(path, program);
  // A link belongs to what it leads to, as the link to a library does to the library's package.
  for (const [path, { target }] of all) {
    const owner = target === undefined ? undefined : owners.get(followLinks(all, path) ?? "");
    if (owner !== undefined) owners.set(path, owner);
  }
  const unknown = [...all.keys()].filter((path) => !owners.has(path));
  if (unknown.length > 0) throw new Error(`no component accounts for ${unknown.join(", ")}`);

  const image: Component = {
    type: "container",
    "bom-ref": "image",
    name: parts.name,
    version: parts.version,
    description: parts.description,
  };
  const owning = [baseImage, ...debian.map(([component]) => component), node, healthcheck, program];
  const placed = owning.map((component) => at(component, pathsOf(owners, component)));
  const components = [system, ...placed, ...ofNode, ...library, ...npm];
  const refs = (list: readonly Component[]) => list.map((each) => each["bom-ref"]);
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: serialNumberOf(components),
    version: 1,
    metadata: { lifecycles: [{ phase: "build" }], component: image },
    components,
    dependencies: [
      { ref: image["bom-ref"], dependsOn: refs([baseImage, node, healthcheck, program]) },
      { ref: baseImage["bom-ref"], dependsOn: refs([system, ...debian.map(([component]) => component)]) },
      { ref: node["bom-ref"], dependsOn: refs(ofNode) },
      { ref: program["bom-ref"], dependsOn: refs([node, ...library, ...npm]) },
    ],
  };
}

/** `repository[:tag][@digest]`, where a port may follow the registry's host. */
function describeBase(name: string): Component {
  const [, repository = name, tag, digest] = /^(.+?)(?::([^:/@]+))?(?:@(sha256:[0-9a-f]{64}))?$/.exec(name) ?? [];
  const version = digest ?? tag ?? "latest";
  const qualifiers = { repository_url: repository, ...(tag === undefined ? {} : { tag }) };
  const purl = packageUrl("oci", repository.split("/").at(-1) ?? repository, version, qualifiers);
  return { type: "container", "bom-ref": purl, name: repository, version, purl };
}

function describeProgram({ name, version, description }: Parts): Component {
  return { ...ours(name, version), description, purl: packageUrl("npm", name, version) };
}

function ours(name: string, version: string): Component {
  return {
    type: "application",
    "bom-ref": `${name}@${version}`,
    supplier: { name: "Countersign" },
    name,
    version,
    licenses: [{ license: { id: "Apache-2.0" } }],
  };
}

function pathsOf(owners: ReadonlyMap<string, Component>, owner: Component): string[] {
  return [...owners].flatMap(([path, each]) => (each === owner ? [path] : []));
}

function sha256Of(files: Files, path: string): string {
  const file = files.get(path);
  if (file === undefined) throw new Error(`the image has no ${path}`);
  return createHash("sha256").update(readFileSync(file.source)).digest("hex");
}

/** Of the content, so that the same image has the same bill wherever it is built (RFC 9562, UUID version 8). */
function serialNumberOf(components: readonly Component[]): string {
  const bytes = createHash("sha256").update(JSON.stringify(components)).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return `urn:uuid:${hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")}`;
}
