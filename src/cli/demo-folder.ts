import { rmSync } from "node:fs";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toYaml } from "../config/to-yaml.ts";
import type { SimulatedCredentials, SimulatedKey, SimulatedSite } from "../simulator/sites.ts";
import type { DemoPorts } from "./demo-ports.ts";

/** A real configuration on disk, as a user would have it, for as long as the demo runs. */
export interface DemoFolder {
  /** The configuration file. */
  readonly file: string;
  remove(): void;
}

export interface DemoAddresses {
  readonly ports: DemoPorts;
  /** Of the simulated service. */
  readonly baseUrl: string;
  readonly authUrl: string;
}

/** Writes the configuration and its secret files into a new folder that only this user can enter. */
export async function writeFolder(addresses: DemoAddresses, sites: readonly SimulatedSite[]): Promise<DemoFolder> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-demo-"));
  const remove = () => {
    process.off("exit", remove);
    rmSync(folder, { recursive: true, force: true });
  };
  // A second Ctrl-C ends the process at once, but not without this.
  process.on("exit", remove);
  try {
    const file = join(folder, "countersign.yaml");
    await writePrivately(file, toYaml(await describeConfig(folder, addresses, sites)));
    return { file, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

async function describeConfig(
  folder: string,
  { ports, baseUrl, authUrl }: DemoAddresses,
  sites: readonly SimulatedSite[],
): Promise<object> {
  const parents = sites.filter(({ parent }) => parent === undefined);
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
        defaultSite: parents[0]?.identifier,
        sites: await describeSites(folder, parents, sites),
      },
    },
  };
}

async function describeSites(
  folder: string,
  wanted: readonly SimulatedSite[],
  all: readonly SimulatedSite[],
): Promise<object> {
  const described = wanted.map(async ({ identifier, credentials = [], keys = [] }) => {
    const children = all.filter(({ parent }) => parent === identifier);
    const site = {
      ...(credentials.length === 0
        ? {}
        : { credentials: await Promise.all(credentials.map((set) => writeSet(folder, set))) }),
      ...(keys.length === 0 ? {} : { keys: await Promise.all(keys.map((key) => writeKey(folder, key))) }),
      ...(children.length === 0 ? {} : { children: await describeSites(folder, children, all) }),
    };
    return [identifier, site] as const;
  });
  return Object.fromEntries(await Promise.all(described));
}

/** One folder a set, as Kubernetes mounts a Secret. */
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
