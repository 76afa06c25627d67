import { CORE_SCHEMA, load, loadAll, mapTag } from "js-yaml";
import {
  type Document,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  stringify,
  visit,
  type YAMLMap,
} from "yaml";
import type { Location, Path, Problem } from "../diagnostics.ts";

/** A YAML or JSON file, parsed, with the positions of its keys and values. */
export interface SourceDocument {
  /** As plain values; undefined if the YAML itself is malformed. */
  readonly value: unknown;
  readonly yamlProblems: readonly Problem[];
  /** Finds the place of a path in the file, or of its nearest parent that exists. */
  locate(path: Path): Location;
}

const longestShown = 60;
/** The most aliases of one anchor. The library multiplies the counts of nested anchors. */
const mostAliases = 100;

/**
 * Reads YAML, of which JSON is a part. If a reader without positions is sure to read the same values, that reader is used: it
 * takes a fraction of the time, which matters for a thousand sites. Positions are then found by `locate`.
 */
export function readDocument(text: string): SourceDocument {
  return toDocument(text, readJson(text) ?? readPlainYaml(text));
}

/** As `readDocument`, for many small texts: to begin with a text takes the reader of YAML longer than to read it. */
export function readDocuments(texts: readonly string[]): SourceDocument[] {
  const yaml = texts.filter((text) => !isJson(text) && !isUnusual(text));
  const values = readPlainStream(yaml);
  return texts.map((text) => {
    const value = values?.get(text);
    return value === undefined ? readDocument(text) : toDocument(text, value);
  });
}

/** @param value undefined: not read yet */
function toDocument(text: string, value: unknown): SourceDocument {
  if (value === undefined) return readYaml(text);
  let document: SourceDocument | undefined;
  const locate = (path: Path) => {
    document ??= readYaml(text);
    return document.locate(path);
  };
  return { value, yamlProblems: [], locate };
}

const jsonString = /"[^"\\]*(?:\\.[^"\\]*)*"/g;

function isJson(text: string): boolean {
  return /^\s*\{/.test(text);
}

/** @returns undefined if the text is not a JSON object, or has a fault that `readYaml` reports */
function readJson(text: string): unknown {
  // An error for each of thousands of files would take longer than reading its YAML.
  if (!isJson(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    // JSON.parse keeps one of two equal keys. Outside of strings there is one colon for each key, and no other.
    const colons = text.replace(jsonString, "").split(":").length - 1;
    return colons > 0 && colons === countKeys(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Counts the keys of all mappings in a value; Infinity for a `__proto__` key, which YAML refuses. */
function countKeys(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  if (Object.hasOwn(value, "__proto__")) return Number.POSITIVE_INFINITY;
  const values = Object.values(value);
  return values.reduce((sum, each) => sum + countKeys(each), Array.isArray(value) ? 0 : values.length);
}

/**
 * Finds what two readers might read differently; the text needs a line break in front. It finds characters beyond ASCII, tabs,
 * anchors, aliases, tags, block texts, directives, keys after `?`, numbers near infinity, several documents, long lines.
 */
const unusual =
  /[^\n\x20-\x7e]|[\n [{,](?:[&*!|>%@`?]|[-+.\d]+[eE]\+?\d\d|[-+.\d]{200})|\n(?: *(?:---|\.\.\.)|.{1000})/;

/** Keys must be texts: each reader converts other keys, such as `null` or a list, in its own way. */
const plainSchema = CORE_SCHEMA.withTags({
  ...mapTag,
  addPair: (map, key, value) =>
    typeof key === "string" && key !== "__proto__" ? mapTag.addPair(map, key, value) : "not here",
});

/** @returns undefined if `readYaml` might report a fault, or read another value */
export function readPlainYaml(text: string): unknown {
  try {
    return isUnusual(text) ? undefined : asValue(load(text, { schema: plainSchema }));
  } catch {
    return undefined;
  }
}

/**
 * Reads each text as one document of a stream.
 * @param texts none is unusual, so that no text begins or ends a document itself
 * @returns undefined if a text has a fault, or takes in the next document
 */
function readPlainStream(texts: readonly string[]): ReadonlyMap<string, unknown> | undefined {
  try {
    const values = loadAll(texts.map((text) => `---\n${text}\n`).join(""), { schema: plainSchema });
    if (values.length !== texts.length) return undefined;
    return new Map(texts.map((text, index) => [text, asValue(values[index])]));
  } catch {
    return undefined;
  }
}

function isUnusual(text: string): boolean {
  return unusual.test(`\n${text}`);
}

function asValue(value: unknown): object | undefined {
  return typeof value === "object" ? (value ?? undefined) : undefined;
}

/**
 * Reads one document of YAML 1.2. Errors are: another version, a key given twice, foreign tags, aliases without an anchor or
 * inside their own anchor, and so many aliases that the value would become huge.
 */
function readYaml(text: string): SourceDocument {
  const lineCounter = new LineCounter();
  // `findTraps` looks for keys given twice: the library would compare each key with all others.
  const document = parseDocument(text, { lineCounter, uniqueKeys: false, prettyErrors: false, logLevel: "error" });
  const { value, faults: found } = readValue(document, text);
  const ofJson = document.errors.length > 0 ? explainJson(text) : undefined;
  const faults = ofJson === undefined ? found : [ofJson];
  return {
    value,
    yamlProblems: faults.map(({ message, offset, earlier, fix = fixFor(message) }) => {
      const { line, col: column } = lineCounter.linePos(offset);
      const first = earlier === undefined ? undefined : lineCounter.linePos(earlier);
      const where = first === undefined ? "" : `; it is at line ${first.line}, column ${first.col} too`;
      return { path: "", line, column, message: `${message}${where}`, found: undefined, fix };
    }),
    locate(path) {
      const { node, offset } = follow(document, path);
      const { line, col: column } = offset === undefined ? { line: 1, col: 1 } : lineCounter.linePos(offset);
      return { line, column, found: show(node) };
    },
  };
}

/** A plain value as YAML, for people. */
export function toYaml(value: object): string {
  return stringify(JSON.parse(JSON.stringify(value)), { lineWidth: 0, flowCollectionPadding: true });
}

interface Fault {
  readonly message: string;
  readonly offset: number;
  /** Offset of the same key, given before. */
  readonly earlier?: number;
  readonly fix?: string;
}

function readValue(document: Document.Parsed, text: string): { value: unknown; faults: readonly Fault[] } {
  const faults = faultsOf(document, text);
  if (faults.length > 0) return { value: undefined, faults };
  try {
    return { value: document.toJS({ maxAliasCount: mostAliases }), faults };
  } catch (error) {
    const isExplosion = error instanceof ReferenceError;
    const message = isExplosion ? "there are too many aliases (*name)" : explain(error as Error);
    return { value: undefined, faults: [{ message, offset: 0 }] };
  }
}

function faultsOf(document: Document.Parsed, text: string): Fault[] {
  const errors = [...document.errors, ...document.warnings].map((error): Fault => {
    const [offset] = error.pos;
    return explainMarks(text, offset) ?? { message: explain(error), offset };
  });
  // The parser does not understand the rest of a line with `${` either, and nothing after a tab.
  const mark = errors.find(({ fix }) => fix !== undefined);
  const lineEnd = text.indexOf("\n", mark?.offset);
  const tab = document.errors.find(({ code }) => code === "TAB_AS_INDENT")?.pos[0] ?? text.length;
  const isUnderstood = ({ offset }: Fault) =>
    offset <= tab && (mark === undefined || offset <= mark.offset || offset > lineEnd);
  const faults = [...errors, ...findTraps(document)].filter(isUnderstood);
  // YAML 1.1 reads other values from the same text: `no` is false, and `<<` merges.
  if (document.directives.yaml.version !== "1.2") faults.push({ message: "only YAML 1.2 is read here", offset: 0 });
  return faults;
}

/** Finds parts that parse, but do not mean what a reader expects; in the order of the text. */
function findTraps(document: Document): Fault[] {
  const faults: Fault[] = [];
  const anchors = new Map<string, Node>();
  visit(document, {
    Alias(_, { source, range }, holders) {
      const target = anchors.get(source);
      if (source === "" || (target !== undefined && !holders.includes(target))) return;
      const message = "this alias (*name) leads nowhere, or into itself";
      const fix = "correct the YAML; put a text that begins with * in quotes";
      faults.push({ message, fix, offset: range?.[0] ?? 0 });
    },
    Value(_, node) {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      if (isMap(node)) faults.push(...checkKeys(node.items));
    },
  });
  return faults.sort((a, b) => a.offset - b.offset);
}

function checkKeys(pairs: readonly Pair[]): Fault[] {
  const faults: Fault[] = [];
  /** Each key, with its offset. */
  const keys = new Map<unknown, number>();
  for (const { key } of pairs) {
    if (!isScalar(key)) continue;
    const offset = key.range?.[0] ?? 0;
    const earlier = keys.get(key.value);
    if (earlier === undefined) keys.set(key.value, offset);
    else faults.push({ message: `the key ${show(key)} is given twice`, fix: "keep one of the two", offset, earlier });
    // Under this name Node sets a prototype, and no configuration needs it.
    if (key.value === "__proto__") faults.push({ message: "nothing can be called __proto__", offset });
  }
  return faults;
}

/** Marks that YAML reads in another way than most people expect. */
function explainMarks(text: string, offset: number): Fault | undefined {
  if (text[offset] === "*" && !/[^\s,\]}]/.test(text[offset + 1] ?? " ")) {
    return { message: "a * without quotes begins an alias in YAML", fix: 'write it in quotes: ["*"]', offset };
  }
  if (text[offset - 1] !== "$" || text[offset] !== "{") return undefined;
  const fix = "write the value itself, or for a secret { file: /path } or { env: NAME }";
  return {
    message: "a variable in braces cannot stand here, and nothing is expanded in this file",
    fix,
    offset: offset - 1,
  };
}

/** The fault in text that is meant as JSON. A YAML reader would report several faults, in other places. */
function explainJson(text: string): Fault | undefined {
  if (!/^\s*\{\s*"/.test(text)) return undefined;
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    // A message of Node that begins so quotes the file, which may hold a secret.
    const [, what, at] =
      /^(?!Unexpected token)([^"]+?)(?: in JSON)?(?: at position (\d+).*)?$/.exec((error as Error).message) ?? [];
    if (what === undefined) return undefined;
    const message = `this is not valid JSON: ${what.charAt(0).toLowerCase()}${what.slice(1)}`;
    return {
      message,
      fix: "correct the JSON here, or just before",
      offset: at === undefined ? text.length : Number(at),
    };
  }
}

/** The parser's message up to a colon: the text behind it quotes the file, which may hold a secret. */
function explain({ message, code }: Error & { readonly code?: string }): string {
  if (code === "MULTIPLE_DOCS") return "a second YAML document begins here (---); a configuration is one";
  return `this is not valid YAML: ${message.replace(/(?<=\S):.*$/s, "")}`;
}

/** What to do about the commonest faults, by the parser's words. */
const fixes: readonly (readonly [words: string, fix: string])[] = [
  ["Tabs are", "indent with blanks"],
  ["Implicit", "put a blank after the colon, and indent the keys of one mapping alike"],
  ["Nested mappings", "put a text with a colon in quotes, and indent the keys of one mapping alike"],
];

function fixFor(message: string): string {
  return fixes.find(([words]) => message.includes(words))?.[1] ?? "correct the YAML";
}

/** The node at a path, and the offset of its key or list item, or of the nearest parent that exists. */
function follow(document: Document, path: Path): { readonly node: unknown; readonly offset: number | undefined } {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const part of path) {
    const pair = isMap(node) ? pairsOf(node).get(part) : undefined;
    const item = isSeq(node) ? node.items[Number(part)] : undefined;
    const named = pair === undefined ? item : pair.key;
    offset = (isNode(named) ? named.range?.[0] : undefined) ?? offset;
    node = pair === undefined ? item : pair.value;
  }
  return { node, offset };
}

const pairsKnown = new WeakMap<YAMLMap, ReadonlyMap<unknown, Pair>>();

/** The pairs of a mapping by key. The library searches them one by one, too slow if each of a thousand sites has a warning. */
function pairsOf(map: YAMLMap): ReadonlyMap<unknown, Pair> {
  const known =
    pairsKnown.get(map) ?? new Map(map.items.map((pair) => [isScalar(pair.key) ? pair.key.value : pair, pair]));
  pairsKnown.set(map, known);
  return known;
}

/** The node as written, without a password in a URL, which may be before the host or in the query. */
function show(node: unknown): string | undefined {
  if (isCollection(node)) return isSeq(node) ? "a list" : "a mapping";
  if (!isScalar(node)) return undefined;
  const written = typeof node.value === "string" ? JSON.stringify(node.value) : (node.source ?? String(node.value));
  const text = written.replace(/^("?(?:[a-z+]+:\/{0,2})?).*@/is, "$1…@").replace(/([?&][^=&\s]*=)[^&\s"]*/g, "$1…");
  return text.length <= longestShown ? text : `${text.slice(0, longestShown)}…`;
}
