import { rmSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { usageFailure } from "countersign/cli/command";
import { toYaml } from "countersign/config/files/yaml";
import { configuredSites, generatedSets } from "../example-sites.ts";
import type { SimulatedCredentials, SimulatedKey } from "../service/sites.ts";
import type { DemoPorts } from "./ports.ts";

/** A real configuration on disk, as a user would have it, for as long as the demo runs. */
export interface DemoFolder {
  /** The configuration file. */
  readonly file: string;
  /** The proxy's log. */
  readonly logFile: string;
  remove(): void;
}

export interface DemoAddresses {
  readonly ports: DemoPorts;
  /** Of the simulated service. */
  readonly baseUrl: string;
  readonly authUrl: string;
}

/**
 * Writes the configuration and its secret files into a folder that only this user can enter. Credential sets that the configuration
 * does not name go into `portal/`, as the portal showed them.
 * @param wanted a folder that is new or empty; undefined: a new temporary folder
 */
export async function writeFolder(addresses: DemoAddresses, wanted: string | undefined): Promise<DemoFolder> {
  const folder = wanted === undefined ? await mkdtemp(join(tmpdir(), "countersign-demo-")) : await claim(wanted);
  const remove = () => {
    process.off("exit", remove);
    rmSync(folder, { recursive: true, force: true });
  };
  // A second Ctrl-C skips the usual shutdown, but not this.
  process.on("exit", remove);
  try {
    const file = join(folder, "countersign.yaml");
    await writePrivately(file, toYaml(await describeConfig(folder, addresses)));
    const portal = join(folder, "portal");
    await mkdir(portal, { mode: 0o700 });
    for (const set of generatedSets) await writeSet(portal, set);
    return { file, logFile: join(folder, "countersign.log"), remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** The demo's end removes the folder with its content, so the folder must be new or empty. */
async function claim(wanted: string): Promise<string> {
  const folder = resolve(wanted);
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EEXIST") throw usageFailure(`${folder} cannot be made (${code}); name another folder.`);
    const held = await readdir(folder).catch(() => undefined);
    if (held?.length !== 0) throw usageFailure(`${folder} exists and is not an empty folder; name a new one.`);
    await chmod(folder, 0o700);
  }
  return folder;
}

async function describeConfig(folder: string, { ports, baseUrl, authUrl }: DemoAddresses): Promise<object> {
  return {
    listeners: [{ bind: `127.0.0.1:${ports.listener}`, environment: "sandbox" }],
    admin: { bind: `127.0.0.1:${ports.admin}` },
    status: { bind: `127.0.0.1:${ports.status}` },
    environments: {
      sandbox: {
        baseUrl,
        authUrl,
        allowPlaintext: true,
        operations: ["create_order"],
        defaultSite: configuredSites[0]?.identifier,
        sites: await describeSites(folder),
      },
    },
  };
}

/** @param family describes the children of this parent; undefined: the sites without a parent */
async function describeSites(folder: string, family?: string): Promise<object> {
  const wanted = configuredSites.filter(({ parent }) => parent === family);
  const described = wanted.map(async ({ identifier, credentials, keys }) => {
    const isParent = configuredSites.some(({ parent }) => parent === identifier);
    const site = {
      credentials: credentials && (await Promise.all(credentials.map((set) => writeSet(folder, set)))),
      keys: keys && (await Promise.all(keys.map((key) => writeKey(folder, key)))),
      children: isParent ? await describeSites(folder, identifier) : undefined,
    };
    return [identifier, site] as const;
  });
  return Object.fromEntries(await Promise.all(described));
}

/** One folder for each set, as Kubernetes mounts a Secret. */
async function writeSet(folder: string, { clientId, clientSecret, audience }: SimulatedCredentials): Promise<object> {
  const name = clientId.replace(/^client-/, "");
  const dir = join(folder, name);
  await mkdir(dir, { mode: 0o700 });
  await writePrivately(join(dir, "client-id"), clientId);
  await writePrivately(join(dir, "client-secret"), clientSecret);
  await writePrivately(join(dir, "audience"), audience);
  return { name, dir };
}

async function writeKey(folder: string, { identifier, secret }: SimulatedKey): Promise<object> {
  const file = join(folder, identifier);
  await writePrivately(file, secret);
  return { identifier, secret: { file } };
}

function writePrivately(file: string, text: string): Promise<void> {
  return writeFile(file, `${text.trimEnd()}\n`, { mode: 0o600 });
}
