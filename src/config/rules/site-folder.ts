import { join } from "node:path";
import { takeTurns } from "../../model/clock.ts";
import type { Environment, RefusedSiteFile, Site } from "../../model/environment.ts";
import { PatchedMap } from "../../model/patched-map.ts";
import type { Secret } from "../../model/secret.ts";
import { Diagnostics, describeProblem, formatPath, type Path, type Warning } from "../diagnostics.ts";
import { decodeText, stampOf } from "../files/file-system.ts";
import type { WatchedFolder } from "../files/watch.ts";
import { readDocument, readDocuments, type SourceDocument } from "../files/yaml.ts";
import { checkForm } from "../form/check-form.ts";
import { siteIdentifier } from "../form/fields.ts";
import { siteInEffect } from "../form/site.ts";
import { fingerprint, fingerprintOf } from "../hash.ts";
import { type ConfigDependencies, LoadContext, noteFiles } from "./load-context.ts";
import { asksAuthorizationServer, loadSites, siteOfKeyIn } from "./sites.ts";
import type { EnvironmentSettings } from "./token-settings.ts";
import { checkUniqueness, type UniqueValue, UniqueValues } from "./uniqueness.ts";

/** The content of a site's file, and of all files that it names, at one reading. */
interface SiteFile {
  /** The stamps of all files that were read, by their absolute paths. */
  readonly stamps: readonly (readonly [path: string, stamp: string])[];
  /** The site and its child sites; none if there is a problem. */
  readonly sites: readonly Site[];
  readonly values: readonly UniqueValue[];
  /** For people. */
  readonly problems: readonly string[];
  readonly warnings: readonly Warning[];
  readonly secrets: readonly Secret[];
}

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
    const changedFiles = changed?.has(this.path) ? undefined : changed;
    let stale: string[] = [];
    for (const name of names) {
      const stamps = this.#latest.get(name)?.stamps;
      // This avoids a promise for each of thousands of files.
      const isFresh =
        stamps !== undefined &&
        (changedFiles === undefined ? await areFresh(stamps) : stamps.every(([path]) => !changedFiles.has(path)));
      if (!isFresh) stale.push(name);
    }
    const read = new Map<string, SiteFile>();
    while (stale.length > 0) {
      const some = stale.splice(0, readTogether);
      for (const [name, now] of await this.#readFiles(some, settings, folder, dependencies)) {
        const known = [this.#latest.get(name), this.#inForce.files.get(name)];
        const same = known.find((each) => each !== undefined && areSame(each, now));
        read.set(name, same ? { ...same, stamps: now.stamps, warnings: now.warnings } : now);
      }
      if (stale.length === 0) stale = this.#findOutdated(read);
    }
    const areSameNames = names.length === this.#latest.size && names.every((name) => this.#latest.has(name));
    if (areSameNames && [...read].every(([name, file]) => pathsOf(file) === pathsOf(this.#latest.get(name)))) {
      this.#add(read);
    } else {
      this.#follow(names.sort().map((name) => [name, read.get(name) ?? this.#latest.get(name)]));
    }
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
      if (problems.length > 0) refused.push({ file, problems: [...new Set(problems)], isServed: served !== undefined });
    }
    const { defaultSite } = environment;
    if (defaultSite !== undefined && !sites.has(defaultSite)) {
      const message = `no file that is served has ${defaultSite}, so requests that name no site fail`;
      context.in("defaultSite").warn("default_site_absent", message, "add its file, or name another");
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

  /** Reads these files, with the files that they name. */
  async #readFiles(
    names: readonly string[],
    settings: EnvironmentSettings,
    folder: string,
    dependencies: ConfigDependencies,
  ): Promise<SiteFiles> {
    const readings: Reading[] = [];
    for (const name of names) readings.push(await this.#open(name, folder, dependencies));
    const documents = readDocuments(readings.map(({ source }) => source.text));
    const files = new Map<string, SiteFile>();
    for (const [index, reading] of readings.entries()) {
      reading.source.document = documents[index];
      const sites = await this.#loadSites(reading, settings);
      reading.source.document = undefined;
      files.set(reading.name, toSiteFile(reading, sites));
    }
    return files;
  }

  /** Reads a file's text. */
  async #open(name: string, folder: string, dependencies: ConfigDependencies): Promise<Reading> {
    const path = join(this.path, name);
    const identifier = name.slice(0, -ending.length);
    const base = ["environments", this.#environment, "sites", identifier];
    const source: Source = { text: "", document: undefined };
    const stamps = new Map<string, string>();
    const noted = noteFiles(dependencies, stamps, ({ stamp }) => stamp);
    const diagnostics = new Diagnostics(locateIn(source, base.length), path);
    const atSites = LoadContext.open(noted, folder, diagnostics).in(...base.slice(0, -1));
    const at = atSites.in(identifier);
    const content = await at.readFile(path);
    if (!name.endsWith(ending) || !siteIdentifier.safeParse(identifier).success) {
      const fix = `name it S….yaml: the Site Identifier (spec 5.3), and ${ending}`;
      at.report("the file's name is no site's", fix, name);
    }
    const text = content && decodeText(content.bytes);
    if (content !== undefined && text === undefined) at.report("the file is not UTF-8", "save it as UTF-8", name);
    source.text = text ?? "";
    return { name, path, identifier, source, stamps, atSites, at };
  }

  async #loadSites(reading: Reading, settings: EnvironmentSettings): Promise<readonly Site[]> {
    const { path, identifier, source, atSites, at } = reading;
    const { diagnostics, uniqueValues } = at.state;
    if (diagnostics.problems.length > 0 || source.document === undefined) return [];
    const { value, yamlProblems } = source.document;
    diagnostics.problems.push(...yamlProblems);
    if (diagnostics.problems.length > 0) return [];
    const raw = checkForm(value, siteInEffect, diagnostics, at.path);
    if (raw === undefined) return [];
    const sites = await loadSites([[identifier, raw]], settings, atSites);
    const isAnywhere = settings.authUrl !== undefined || settings.token?.url !== undefined;
    if (!isAnywhere && [raw, ...Object.values(raw.children)].some(asksAuthorizationServer)) {
      at.report("the environment has no authUrl, and the site has credentials", "add authUrl to the environment");
    }
    for (const site of sites) at.addUniqueValue("site", `${this.#environment} ${site.identifier}`, path);
    checkUniqueness(uniqueValues, diagnostics);
    return sites;
  }
}

/** A file of which the text has been read. */
interface Reading {
  readonly name: string;
  readonly path: string;
  readonly identifier: string;
  readonly source: Source;
  readonly stamps: ReadonlyMap<string, string>;
  readonly atSites: LoadContext;
  /** Of the site. */
  readonly at: LoadContext;
}

function toSiteFile({ stamps, at }: Reading, sites: readonly Site[]): SiteFile {
  const { diagnostics, secrets, uniqueValues } = at.state;
  const { problems, warnings } = diagnostics;
  return {
    stamps: [...stamps],
    sites: problems.length > 0 ? [] : sites,
    // A copy: a list that grew keeps spare memory.
    values: [...uniqueValues],
    problems: problems.map(describeProblem),
    warnings,
    secrets: [...secrets],
  };
}

/** The paths of the files that were read. */
function pathsOf(file: SiteFile | undefined): string | undefined {
  return file?.stamps.map(([path]) => path).join();
}

/** The identifiers of its sites and of their keys. */
function namesIn(file: SiteFile | undefined): string | undefined {
  return file?.sites.map(({ identifier, keys }) => [identifier, ...keys.map((key) => key.identifier)].join()).join();
}

function mapsOf(sites: readonly Site[]): SiteMaps {
  const byIdentifier = new Map(sites.map((site) => [site.identifier, site]));
  return { sites: byIdentifier, siteOfKey: siteOfKeyIn(byIdentifier) };
}

async function areFresh(stamps: SiteFile["stamps"]): Promise<boolean> {
  for (const [path, known] of stamps) if ((await stampOf(path)) !== known) return false;
  return true;
}

const ending = ".yaml";
/** So many files are parsed in one go, which takes a few milliseconds. */
const readTogether = 10;
/** Requests get a turn after this many files, which take some milliseconds. */
const admittedAtOnce = 2_000;

/** Kubernetes' `..data` and the temporary files of editors begin with a dot or have another ending. */
function isSiteFile(name: string): boolean {
  return /^[^.].*\.ya?ml$/.test(name);
}

/** Whether both hold the same sound sites. If so, the former objects are kept, and with them all that depends on them. */
function areSame(one: SiteFile, other: SiteFile): boolean {
  const all = ({ sites }: SiteFile) => sites.map(fingerprintOf).join();
  return one.sites.length > 0 && all(one) === all(other);
}

/** A file's text, and its document while it is read: the documents of thousands of files are not kept. */
interface Source {
  text: string;
  document: SourceDocument | undefined;
}

/** @param depth how many parts of a path lead to the file */
function locateIn(source: Source, depth: number) {
  return (path: Path) => (source.document ?? readDocument(source.text)).locate(path.slice(depth));
}

const emptied = "the folder is empty; its sites stay in force until a restart. Mount it again, or restart without them";

/** A file that may be served: its latest version, else the one in force. */
interface Candidate {
  readonly name: string;
  readonly inForce: SiteFile | undefined;
  /** The version that is chosen so far. */
  served: SiteFile | undefined;
  /** Of the latest version, for people. */
  readonly problems: string[];
}

/** Gives up the chosen version for the one in force, or for none. */
function fallBack(candidate: Candidate, values: UniqueValues): Candidate {
  const { inForce, served } = candidate;
  const isLeft = inForce !== undefined && served !== inForce && findClashes(inForce, values).length === 0;
  candidate.served = isLeft ? inForce : undefined;
  return candidate;
}

/** Whether no two candidates can clash; it takes a part of the time of `findLosses`. */
function areAllDifferent(candidates: readonly Candidate[]): boolean {
  const keys = new Set<string>();
  let count = 0;
  for (const { served } of candidates) {
    for (const { key } of served?.values ?? []) {
      keys.add(key);
      count += 1;
    }
  }
  return keys.size === count;
}

/** Files lose to the holder of a value first: what they give up then may let others be served. */
function resolveClashes(candidates: readonly Candidate[], values: UniqueValues): void {
  const holders = new Map<string, Candidate>();
  for (const candidate of candidates) {
    for (const { key } of candidate.inForce?.values ?? []) holders.set(key, candidate);
  }
  for (;;) {
    if (areAllDifferent(candidates)) return;
    const losses = findLosses(candidates, holders);
    if (losses.length === 0) return;
    const isHeld = losses.some(({ holder }) => holder !== undefined);
    const losers = new Set<Candidate>();
    for (const { loser, holder, problem } of losses) {
      if (isHeld && holder === undefined) continue;
      loser.problems.push(problem);
      losers.add(loser);
    }
    for (const loser of losers) fallBack(loser, values);
  }
}

/** A value in the version of a file that is chosen so far. */
interface Claim {
  readonly candidate: Candidate;
  readonly value: UniqueValue;
}

/** A file that claims a value of another file. `holder`: of the two, the one that has it in force. */
interface Loss {
  readonly loser: Candidate;
  readonly holder: Candidate | undefined;
  readonly problem: string;
}

function findLosses(candidates: readonly Candidate[], holders: ReadonlyMap<string, Candidate>): Loss[] {
  const losses: Loss[] = [];
  const claims = new Map<string, Claim>();
  for (const candidate of candidates) {
    for (const value of candidate.served?.values ?? []) {
      const claim = { candidate, value };
      const [first, held] = [claims.get(value.key), holders.get(value.key)];
      if (first !== undefined) losses.push(...lossOf(first, claim, held), ...lossOf(claim, first, held));
      if (first === undefined || candidate === held) claims.set(value.key, claim);
    }
  }
  return losses;
}

/** What a claim loses to another one; nothing if there is no clash, or if its own file holds the value. */
function lossOf(own: Claim, other: Claim, held: Candidate | undefined): Loss[] {
  const loser = own.candidate;
  if (loser === other.candidate || loser === held) return [];
  const others = new UniqueValues();
  others.add(other.value);
  const holder = other.candidate === held ? held : undefined;
  return findClashes({ values: [own.value] }, others).map((problem) => ({ loser, holder, problem }));
}

/** The clashes of the file with these values, for people; none if the file can be served. */
function findClashes({ values }: Pick<SiteFile, "values">, others: UniqueValues): string[] {
  const clashes: string[] = [];
  for (const value of values) {
    const clash = others.clashOf(value);
    const place = { line: 1, column: 1, found: undefined };
    if (clash !== undefined) clashes.push(describeProblem({ ...clash, ...place, path: formatPath(value.path) }));
  }
  return clashes;
}
