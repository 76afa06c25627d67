import { CORE_SCHEMA, load, mapTag } from "js-yaml";
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  stringify,
  type YAMLMap,
} from "yaml";
import type { Location, Path, Problem } from "../diagnostics.ts";

/** A YAML or JSON file, parsed, with the positions of its keys and values. */
export interface SourceDocument {
  /** As plain values; undefined where the YAML itself is wrong. */
  readonly value: unknown;
  readonly yamlProblems: readonly Problem[];
  /** A path in the file, or the nearest thing around it that exists. */
  locate(path: Path): Location;
}

const longestShown = 60;
/** The most aliases of one anchor. The library multiplies the counts of nested anchors. */
const mostAliases = 100;

/**
 * YAML, of which JSON is a part. Programs write both, for a thousand sites too: where a reader that knows no places is sure
 * to read the same, it takes a fraction of the time, and places are found when they are asked for.
 */
export function readDocument(text: string): SourceDocument {
  const value = readJson(text) ?? readPlainYaml(text);
  if (value === undefined) return readYaml(text);
  let document: SourceDocument | undefined;
  const locate = (path: Path) => {
    document ??= readYaml(text);
    return document.locate(path);
  };
  return { value, yamlProblems: [], locate };
}

const jsonString = /"[^"\\]*(?:\\.[^"\\]*)*"/g;

/** @returns undefined where the text is not a JSON object, or has what `readYaml` complains of */
function readJson(text: string): unknown {
  // An error of each of thousands of files would take longer than its YAML.
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    // JSON.parse keeps one of two equal keys. Outside of strings a colon stands for each key, and nowhere else.
    const colons = text.replace(jsonString, "").split(":").length - 1;
    return colons > 0 && colons === countKeys(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Counts the keys of all mappings in a value; infinite with a key that YAML refuses. */
function countKeys(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  if (Object.hasOwn(value, "__proto__")) return Number.POSITIVE_INFINITY;
  const values = Object.values(value);
  return values.reduce((sum, each) => sum + countKeys(each), Array.isArray(value) ? 0 : values.length);
}

/**
 * What two readers might understand differently, in a text with a line break before it: other characters than ASCII, tabs,
 * anchors, aliases, tags, block texts, directives, keys after `?`, numbers near infinity, several documents, long lines.
 */
const unusual =
  /[^\n\x20-\x7e]|[\n [{,](?:[&*!|>%@`?]|[-+.\d]+[eE]\+?\d\d|[-+.\d]{200})|\n(?: *(?:---|\.\.\.)|.{1000})/;

/** Only texts are keys: of others, such as `null` or a list, each reader makes a text of its own. */
const plainSchema = CORE_SCHEMA.withTags({
  ...mapTag,
  addPair: (map, key, value) =>
    typeof key === "string" && key !== "__proto__" ? mapTag.addPair(map, key, value) : "not here",
});

/** @returns undefined where `readYaml` might complain, or read another value */
export function readPlainYaml(text: string): unknown {
  try {
    const value = unusual.test(`\n${text}`) ? undefined : load(text, { schema: plainSchema });
    return typeof value === "object" ? (value ?? undefined) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * YAML 1.2, one document. Another version is an error, and so are a key given twice, foreign tags, aliases that lead
 * nowhere or into themselves, and so many of them that the file would explode.
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
    yamlProblems: faults.map(({ message, offset, earlier, fix = "correct the YAML" }) => {
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
  /** Where the same stands before. */
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
  // The parser does not understand the rest of a line with `${` either.
  const mark = errors.find(({ fix }) => fix !== undefined);
  const lineEnd = text.indexOf("\n", mark?.offset);
  const isUnderstood = ({ offset }: Fault) => mark === undefined || offset <= mark.offset || offset > lineEnd;
  const faults = [...errors, ...findTraps(document)].filter(isUnderstood);
  // YAML 1.1 reads other values from the same text: `no` is false, and `<<` merges.
  if (document.directives.yaml.version !== "1.2") faults.push({ message: "only YAML 1.2 is read here", offset: 0 });
  return faults;
}

/** What parses, and would mean something else than it says. */
function findTraps(document: Document): Fault[] {
  const faults: Fault[] = [];
  const holders: unknown[] = [];
  const anchors = new Map<string, unknown>();
  checkNode(document.contents);
  return faults;

  function checkNode(node: unknown): void {
    if ((isScalar(node) || isCollection(node)) && node.anchor !== undefined) anchors.set(node.anchor, node);
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (node.source === "" || (target !== undefined && !holders.includes(target))) return;
      const message = "this alias (*name) leads nowhere, or into itself";
      const fix = "correct the YAML; a text that begins with * stands in quotes";
      faults.push({ message, fix, offset: node.range?.[0] ?? 0 });
    } else if (isCollection(node)) {
      holders.push(node);
      if (isSeq(node)) node.items.forEach(checkNode);
      else checkPairs(node.items as Pair[]);
      holders.pop();
    }
  }

  function checkPairs(pairs: readonly Pair[]): void {
    /** With the offset of each. */
    const keys = new Map<unknown, number>();
    for (const { key, value } of pairs) {
      checkNode(key);
      if (isScalar(key)) {
        const offset = key.range?.[0] ?? 0;
        const earlier = keys.get(key.value);
        if (earlier !== undefined) {
          faults.push({ message: `the key ${show(key)} is given twice`, fix: "keep one of the two", offset, earlier });
        }
        // Node assigns a prototype under this name; nothing sound is called so.
        if (key.value === "__proto__") faults.push({ message: "nothing can be called __proto__", offset });
        if (earlier === undefined) keys.set(key.value, offset);
      }
      checkNode(value);
    }
  }
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

/** What is wrong with text that is meant as JSON, of which YAML would complain in several other places. */
function explainJson(text: string): Fault | undefined {
  if (!/^\s*\{\s*"/.test(text)) return undefined;
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    // Where Node's message begins so, it quotes the file, where a secret may stand.
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

/** The parser's message without what follows a colon: that quotes the file, which may hold a secret. */
function explain({ message, code }: Error & { readonly code?: string }): string {
  if (code === "MULTIPLE_DOCS") return "a second YAML document begins here (---); a configuration is one";
  return `this is not valid YAML: ${message.replace(/(?<=\S):.*$/s, "")}`;
}

/** What a path leads to, and the offset of its key or list item, or of the nearest thing around it that exists. */
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

/** A mapping by its keys. The library searches one after another, and each of a thousand sites may have a warning. */
function pairsOf(map: YAMLMap): ReadonlyMap<unknown, Pair> {
  const known =
    pairsKnown.get(map) ?? new Map(map.items.map((pair) => [isScalar(pair.key) ? pair.key.value : pair, pair]));
  pairsKnown.set(map, known);
  return known;
}

/** As it is written, but for a password in a URL: before its host, or in its query. */
function show(node: unknown): string | undefined {
  if (isCollection(node)) return isSeq(node) ? "a list" : "a mapping";
  if (!isScalar(node)) return undefined;
  const written = typeof node.value === "string" ? JSON.stringify(node.value) : (node.source ?? String(node.value));
  const text = written.replace(/^("?(?:[a-z+]+:\/{0,2})?).*@/is, "$1…@").replace(/([?&][^=&\s]*=)[^&\s"]*/g, "$1…");
  return text.length <= longestShown ? text : `${text.slice(0, longestShown)}…`;
}
