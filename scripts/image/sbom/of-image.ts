/** The bill of materials of an image that is built, for release: taken out of it, held against its files, and given its name. */
import { spawnSync } from "node:child_process";
import { type Bill, packageUrl } from "./component.ts";

const label = "dev.countersign.sbom";

/** What an engine puts into every container, over whatever the image has. */
const ofEngine = /^\/(\.dockerenv|(dev|proc|sys)\/.*|etc\/(hostname|hosts|mtab|resolv\.conf))$/;

interface Image {
  readonly Id: string;
  readonly Created: string;
  readonly Architecture: string;
  readonly RepoDigests: readonly string[] | null;
  readonly Config: { readonly Labels: Readonly<Record<string, string>> | null };
}

export interface Account {
  readonly bill: Bill;
  readonly files: number;
  /** Files of the image that no component of the bill names. */
  readonly unlisted: readonly string[];
  /** Files that the bill names and the image lacks. */
  readonly absent: readonly string[];
}

export function billOf(name: string): Account {
  const [image] = JSON.parse(docker("image", "inspect", name).toString()) as Image[];
  const path = image?.Config.Labels?.[label];
  if (image === undefined || path === undefined)
    throw new Error(`${name} has no label ${label}: it is no image of ours.`);
  const id = docker("create", image.Id).toString().trim();
  try {
    const files = filesOf(id).filter((file) => !ofEngine.test(file));
    const bill = JSON.parse(tar("-xO", docker("cp", `${id}:${path}`, "-"))) as Bill;
    const listed = new Set(
      bill.components.flatMap(({ evidence }) => evidence?.occurrences.map(({ location }) => location) ?? []),
    );
    return {
      bill: { ...bill, metadata: { ...bill.metadata, ...identify(bill, image) } },
      files: files.length,
      unlisted: files.filter((file) => !listed.has(file)),
      absent: [...listed].filter((file) => !files.includes(file)),
    };
  } finally {
    docker("rm", id);
  }
}

/** What an image cannot say of itself while it is made: when that was, and by which digest it is known. */
function identify({ metadata }: Bill, { Id, Created, Architecture, RepoDigests }: Image): Partial<Bill["metadata"]> {
  const [repository = "", digest] = RepoDigests?.[0]?.split("@") ?? [];
  const qualifiers = { repository_url: repository, arch: Architecture };
  const purl = digest === undefined ? {} : { purl: packageUrl("oci", metadata.component.name, digest, qualifiers) };
  return {
    timestamp: `${Created.slice(0, 19)}Z`,
    component: { ...metadata.component, ...purl },
    properties: [{ name: "countersign:image-id", value: Id }],
  };
}

function filesOf(container: string): string[] {
  const names = tar("-t", docker("export", container)).trim().split("\n");
  return names.filter((name) => !name.endsWith("/")).map((name) => `/${name}`);
}

/** GNU's tar; names as they are. */
function tar(action: string, archive: Buffer): string {
  return run("tar", ["--quoting-style=literal", action], archive).toString();
}

function docker(...args: readonly string[]): Buffer {
  return run("docker", args);
}

function run(command: string, args: readonly string[], input?: Buffer): Buffer {
  const { status, stdout, stderr, error } = spawnSync(command, args, { input, maxBuffer: 2 ** 30 });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${error?.message ?? stderr}`);
  return stdout;
}
