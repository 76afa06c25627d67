import { join } from "node:path";
import type { Site } from "../../model/environment.ts";
import type { Secret } from "../../model/secret.ts";
import { Diagnostics, type Path, type Problem, type Warning } from "../diagnostics.ts";
import { decodeText, stampOf } from "../files/file-system.ts";
import { readDocument, readDocuments, type SourceDocument } from "../files/yaml.ts";
import { checkForm } from "../form/check-form.ts";
import { siteIdentifier } from "../form/fields.ts";
import { siteInEffect } from "../form/site.ts";
import { fingerprintOf } from "../hash.ts";
import { type ConfigDependencies, LoadContext, noteFiles } from "./load-context.ts";
import { asksAuthorizationServer, loadSites } from "./sites.ts";
import type { EnvironmentSettings } from "./token-settings.ts";
import { checkUniqueness, type UniqueValue } from "./uniqueness.ts";

/** The content of a site's file, and of all files that it names, at one reading. */
export interface SiteFile {
  /** The stamps of all files that were read, by their absolute paths. */
  readonly stamps: readonly (readonly [path: string, stamp: string])[];
  /** The site and its child sites; none if there is a problem. */
  readonly sites: readonly Site[];
  readonly values: readonly UniqueValue[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Warning[];
  readonly secrets: readonly Secret[];
}

/** Where the files are, and what they are read with. */
export interface FolderPlace {
  /** Of the folder of sites. */
  readonly path: string;
  readonly environment: string;
  readonly settings: EnvironmentSettings;
  /** The configuration's own, which relative paths start from. */
  readonly folder: string;
  readonly dependencies: ConfigDependencies;
}

/** Reads these files, with the files that they name. */
export async function readSiteFiles(names: readonly string[], place: FolderPlace): Promise<Map<string, SiteFile>> {
  const readings: Reading[] = [];
  for (const name of names) readings.push(await open(name, place));
  const documents = readDocuments(readings.map(({ source }) => source.text));
  const files = new Map<string, SiteFile>();
  for (const [index, reading] of readings.entries()) {
    reading.source.document = documents[index];
    const sites = await loadSitesOf(reading, place);
    reading.source.document = undefined;
    files.set(reading.name, toSiteFile(reading, sites));
  }
  return files;
}

/** Reads a file's text. */
async function open(name: string, { path: parent, environment, folder, dependencies }: FolderPlace): Promise<Reading> {
  const path = join(parent, name);
  const identifier = name.replace(ending, "");
  const base = ["environments", environment, "sites", identifier];
  const source: Source = { text: "", document: undefined };
  const stamps = new Map<string, string>();
  const noted = noteFiles(dependencies, stamps, ({ stamp }) => stamp);
  const diagnostics = new Diagnostics(locateIn(source, base.length), path);
  const atSites = LoadContext.open(noted, folder, diagnostics).in(...base.slice(0, -1));
  const at = atSites.in(identifier);
  const content = await at.readFile(path);
  if (!siteIdentifier.safeParse(identifier).success) {
    at.report("the file's name is no site's", "name it by the Site Identifier (spec 5.3): S….yaml", name);
  }
  const text = content && decodeText(content.bytes);
  if (content !== undefined && text === undefined) at.report("the file is not UTF-8", "save it as UTF-8", name);
  source.text = text ?? "";
  return { name, path, identifier, source, stamps, atSites, at };
}

async function loadSitesOf(reading: Reading, { environment, settings }: FolderPlace): Promise<readonly Site[]> {
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
  for (const site of sites) at.addUniqueValue("site", `${environment} ${site.identifier}`, path);
  checkUniqueness(uniqueValues, diagnostics);
  return sites;
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
    problems,
    warnings,
    secrets: [...secrets],
  };
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

/** The paths of the files that were read. */
export function pathsOf(file: SiteFile | undefined): string | undefined {
  return file?.stamps.map(([path]) => path).join();
}

/** The identifiers of its sites and of their keys. */
export function namesIn(file: SiteFile | undefined): string | undefined {
  return file?.sites.map(({ identifier, keys }) => [identifier, ...keys.map((key) => key.identifier)].join()).join();
}

export async function areFresh(stamps: SiteFile["stamps"]): Promise<boolean> {
  for (const [path, known] of stamps) if ((await stampOf(path)) !== known) return false;
  return true;
}

const ending = /\.ya?ml$/;
/** Kubernetes' `..data` and the temporary files of editors begin with a dot or have another ending. */
export function isSiteFile(name: string): boolean {
  return !name.startsWith(".") && ending.test(name);
}

/** Whether both hold the same sound sites. If so, the former objects are kept, and with them all that depends on them. */
export function areSame(one: SiteFile, other: SiteFile): boolean {
  const all = ({ sites }: SiteFile) => sites.map(fingerprintOf).join();
  return one.sites.length > 0 && all(one) === all(other);
}
