import { takeTurns } from "../../model/clock.ts";
import type { Environment, RefusedSiteFile, Site } from "../../model/environment.ts";
import { PatchedMap } from "../../model/patched-map.ts";
import type { Secret } from "../../model/secret.ts";
import { describeProblem, problemOfAll } from "../diagnostics.ts";
import type { WatchedFolder } from "../files/watch.ts";
import { fingerprint } from "../hash.ts";
import type { ConfigDependencies, LoadContext } from "./load-context.ts";
import { type Candidate, fallBack, findClashes, resolveClashes } from "./site-clashes.ts";
import {
  areFresh,
  areSame,
  type FolderPlace,
  isSiteFile,
  namesIn,
  pathsOf,
  readSiteFiles,
  type SiteFile,
} from "./site-file.ts";
import { siteOfKeyIn } from "./sites.ts";
import type { EnvironmentSettings } from "./token-settings.ts";
import type { UniqueValues } from "./uniqueness.ts";

type SiteFiles = ReadonlyMap<string, SiteFile>;
type NamedFiles = Iterable<readonly [name: string, file: SiteFile | undefined]>;

type SiteMaps = Pick<Environment, "sites" | "siteOfKey">;

/** What is in force: the version of each file, by name, and their sites. */
interface InForce {
  readonly files: Map<string, SiteFile>;
  readonly maps: SiteMaps;
}

function nothing(): InForce {
  return { files: new Map(), maps: { sites: new Map(), siteOfKey: new Map() } };
}

/**
 * The sites of one environment that have files of their own. A file is read again when it, or a file that it names, has
 * changed; the others are kept. A file with a problem is refused alone, and its former version stays in force.
 */
export class SiteFolder {
  readonly path: string;
  readonly #environment: string;
  /** A fingerprint of the settings that all sites depend on: after a change of these, every file is read again. */
  #basis = "";
  /** By file name, sorted. */
  #latest = new Map<string, SiteFile>();
  /** The stamps of the latest files. */
  #stamps = new Map<string, string>();
  /** All files are gone at once, as after an unmount. */
  #isEmptied = false;
  /** What comes into force next: other versions of some files. */
  #admitted: { readonly changes: ReadonlyMap<string, SiteFile | undefined>; readonly maps: SiteMaps } | undefined;
  /** The active configuration's, and the basis with which that was read. */
  #active = { basis: "", inForce: nothing() };

  constructor(path: string, environment: string) {
    this.path = path;
    this.#environment = environment;
  }

  /** @param changed paths that may have changed; the folder's path means all of its files; undefined: any may have changed */
  async read(
    settings: EnvironmentSettings,
    folder: string,
    dependencies: ConfigDependencies,
    changed?: ReadonlySet<string>,
  ): Promise<void> {
    const { baseUrl, authUrl, allowPlaintext, token, tls } = settings;
    const basis = fingerprint([folder, baseUrl, authUrl, allowPlaintext, token, tls]);
    const names = (await dependencies.readFolder(this.path)).filter(isSiteFile);
    if (basis !== this.#basis) this.#latest = new Map();
    this.#basis = basis;
    this.#isEmptied = names.length === 0 && this.#inForce.files.size > 0;
    if (this.#isEmptied) {
      this.#follow(this.#inForce.files);
      return;
    }
    const stale = await this.#findStale(names, changed?.has(this.path) ? undefined : changed);
    const place = { path: this.path, environment: this.#environment, settings, folder, dependencies };
    const read = await this.#readAnew(stale, place);
    const areSameNames = names.length === this.#latest.size && names.every((name) => this.#latest.has(name));
    if (areSameNames && [...read].every(([name, file]) => pathsOf(file) === pathsOf(this.#latest.get(name)))) {
      this.#add(read);
    } else {
      this.#follow(names.sort().map((name) => [name, read.get(name) ?? this.#latest.get(name)]));
    }
  }

  /** The files that are new, or that name a file which may have changed. */
  async #findStale(names: readonly string[], changed: ReadonlySet<string> | undefined): Promise<string[]> {
    const stale: string[] = [];
    for (const name of names) {
      const stamps = this.#latest.get(name)?.stamps;
      // This avoids a promise for each of thousands of files.
      const isFresh =
        stamps !== undefined &&
        (changed === undefined ? await areFresh(stamps) : stamps.every(([path]) => !changed.has(path)));
      if (!isFresh) stale.push(name);
    }
    return stale;
  }

  /** Reads these files, then those that name what has changed meanwhile. */
  async #readAnew(stale: string[], place: FolderPlace): Promise<SiteFiles> {
    const read = new Map<string, SiteFile>();
    let left = stale;
    while (left.length > 0) {
      for (const [name, now] of await readSiteFiles(left.splice(0, readTogether), place)) {
        const known = [this.#latest.get(name), this.#inForce.files.get(name)];
        const same = known.find((each) => each !== undefined && areSame(each, now));
        read.set(name, same ? { ...same, stamps: now.stamps, warnings: now.warnings } : now);
      }
      if (left.length === 0) left = this.#findOutdated(read);
    }
    return read;
  }

  /** The other files that name a file which has changed since, as these readings show. */
  #findOutdated(read: SiteFiles): string[] {
    const outdated: string[] = [];
    if (this.#latest.size === 0) return outdated;
    const stamps = new Map([...read.values()].flatMap((file) => file.stamps));
    for (const [name, file] of this.#latest) {
      const isOutdated = file.stamps.some(([path, stamp]) => (stamps.get(path) ?? stamp) !== stamp);
      if (isOutdated && !read.has(name)) outdated.push(name);
    }
    return outdated;
  }

  /** These are the latest files, and no others. */
  #follow(files: NamedFiles): void {
    this.#latest = new Map();
    this.#stamps = new Map();
    this.#add(files);
  }

  #add(files: NamedFiles): void {
    for (const [name, file] of files) {
      if (file === undefined) continue;
      this.#latest.set(name, file);
      for (const [path, stamp] of file.stamps) this.#stamps.set(path, stamp);
    }
  }

  /** What is in force; nothing if it was read with other settings. */
  get #inForce(): InForce {
    return this.#active.basis === this.#basis ? this.#active.inForce : nothing();
  }

  /** Every site that `admitTo` may choose: of a changed file both versions, the latest and the one in force. */
  *versions(): Generator<Site> {
    const { files } = this.#inForce;
    for (const [name, latest] of this.#latest) {
      yield* latest.sites;
      const inForce = files.get(name);
      if (inForce !== latest && inForce !== undefined) yield* inForce.sites;
    }
  }

  /** Of the files in force. */
  *secrets(): Generator<Secret> {
    for (const { secrets } of this.#inForce.files.values()) yield* secrets;
  }

  /** The stamps change with each reading. */
  get watched(): WatchedFolder {
    return { path: this.path, stamps: this.#stamps };
  }

  /**
   * The environment with the sites that do not clash with the rest of the configuration. Of two files that clash, the one that holds
   * the value in force stays; if neither does, both are refused.
   * @param values the unique values of the rest
   * @param isFollowed whether another folder follows: those of the admitted files are added
   * @param context of the environment
   */
  async admitTo(
    environment: Environment,
    values: UniqueValues,
    isFollowed: boolean,
    context: LoadContext,
  ): Promise<Environment> {
    const open = await this.#findOpen(values);
    resolveClashes([...open.values(), ...this.#findRivals(open)], values);
    await takeTurns();
    const { files } = this.#inForce;
    const changes = new Map<string, SiteFile | undefined>();
    for (const { name, inForce, served } of open.values()) if (served !== inForce) changes.set(name, served);
    for (const name of files.keys()) if (!this.#latest.has(name)) changes.set(name, undefined);
    for (const { warnings, values: own } of this.#served(open)) {
      context.state.diagnostics.warnings.push(...warnings);
      if (isFollowed) for (const value of own) values.add(value);
    }
    const maps = this.#mapSites(changes, open);
    this.#admitted = { changes, maps };
    const { sites } = maps;
    const refused: RefusedSiteFile[] = [];
    if (this.#isEmptied) refused.push({ file: this.path, problems: [emptied], isServed: true });
    for (const { name: file, served, problems } of open.values()) {
      const different = [...new Map(problems.map((problem) => [describeProblem(problem), problem])).values()];
      if (problems.length > 0) refused.push({ file, problems: different, isServed: served !== undefined });
    }
    const { defaultSite } = environment;
    if (defaultSite !== undefined && !sites.has(defaultSite)) {
      const message = `no file that is served has ${defaultSite}, so requests that name no site fail`;
      context.in("defaultSite").warn("default_site_absent", message, "add its file, or name another");
    } else if (sites.size === 0 && refused.length === 0) {
      const message = "no site has a file here, so every request fails";
      context.in("sites", "folder").warn("site_folder_empty", message, "add a file: S….yaml");
    }
    return { ...environment, ...maps, siteFolder: { path: this.path, refused } };
  }

  /** The chosen version of each file. */
  *#served(open: ReadonlyMap<string, Candidate>): Generator<SiteFile> {
    for (const [name, latest] of this.#latest) {
      const candidate = open.get(name);
      const served = candidate === undefined ? latest : candidate.served;
      if (served !== undefined) yield served;
    }
  }

  #mapSites(changes: ReadonlyMap<string, SiteFile | undefined>, open: ReadonlyMap<string, Candidate>): SiteMaps {
    const { files, maps } = this.#inForce;
    const changed = [...changes].flatMap(([, file]) => file?.sites ?? []);
    if ([...changes].every(([name, file]) => namesIn(file) === namesIn(files.get(name)))) {
      const now = mapsOf(changed);
      return {
        sites: PatchedMap.with(maps.sites, now.sites),
        siteOfKey: PatchedMap.with(maps.siteOfKey, now.siteOfKey),
      };
    }
    return mapsOf([...this.#served(open)].flatMap(({ sites }) => sites));
  }

  /** The files of which the latest version is not in force yet, or clashes with the rest; by name. */
  async #findOpen(values: UniqueValues): Promise<Map<string, Candidate>> {
    const open = new Map<string, Candidate>();
    const { files } = this.#inForce;
    let count = 0;
    for (const [name, latest] of this.#latest) {
      count += 1;
      if (count % admittedAtOnce === 0) await takeTurns();
      const inForce = files.get(name);
      const clashes = findClashes(latest, values);
      if (latest === inForce && clashes.length === 0) continue;
      const candidate = { name, inForce, served: latest, problems: [...latest.problems, ...clashes] };
      open.set(name, candidate.problems.length === 0 ? candidate : fallBack(candidate, values));
    }
    return open;
  }

  /** The other files that have a value of an open one: they stay as they are, since they hold it in force. */
  #findRivals(open: ReadonlyMap<string, Candidate>): Candidate[] {
    if (this.#inForce.files.size === 0) return [];
    const claimed = new Set<string>();
    for (const { inForce, served } of open.values()) {
      for (const { key } of [...(inForce?.values ?? []), ...(served?.values ?? [])]) claimed.add(key);
    }
    const rivals: Candidate[] = [];
    for (const [name, inForce] of this.#inForce.files) {
      const isRival = inForce.values.some(({ key }) => claimed.has(key));
      if (isRival && this.#latest.has(name) && !open.has(name))
        rivals.push({ name, inForce, served: inForce, problems: [] });
    }
    return rivals;
  }

  /** What was admitted last is now in force. */
  commit(): void {
    if (this.#admitted === undefined) return;
    const { files } = this.#inForce;
    const { changes, maps } = this.#admitted;
    for (const [name, file] of changes) {
      if (file === undefined) files.delete(name);
      else files.set(name, file);
    }
    this.#active = { basis: this.#basis, inForce: { files, maps } };
    this.#admitted = undefined;
  }
}

function mapsOf(sites: readonly Site[]): SiteMaps {
  const byIdentifier = new Map(sites.map((site) => [site.identifier, site]));
  return { sites: byIdentifier, siteOfKey: siteOfKeyIn(byIdentifier) };
}

/** So many files are parsed in one go, which takes a few milliseconds. */
const readTogether = 10;
/** Requests get a turn after this many files, which take some milliseconds. */
const admittedAtOnce = 2_000;

const emptied = problemOfAll(
  "the folder is empty; its sites stay in force until a restart",
  "mount it again, or restart without them",
);
