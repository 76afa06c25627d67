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
  type YAMLError,
  type YAMLMap,
} from "yaml";
import type { Location, Path, Problem } from "../diagnostics.ts";
import { findForeign, findLookAlike } from "./characters.ts";

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
 * anchors, aliases, tags, block texts, directives, keys after `?`, merge keys, numbers near infinity, several documents, long
 * lines.
 */
const unusual =
  /[^\n\x20-\x7e]|[\n [{,](?:[&*!|>%@`?]|<<|[-+.\d]+[eE]\+?\d\d|[-+.\d]{200})|\n(?: *(?:---|\.\.\.)|.{1000})/;

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
  const describe = (offset: number) => {
    const { line, col } = lineCounter.linePos(offset);
    return `line ${line}, column ${col}`;
  };
  const { value, faults: found } = readValue(document, text, describe);
  // Further faults are consequences of this one.
  const first =
    findForeign(text) ?? findLookAlike(text) ?? (document.errors.length > 0 ? explainJson(text) : undefined);
  const faults = first === undefined ? found : [first];
  return {
    value,
    yamlProblems: faults.map(({ message, offset, fix = fixFor(message) }) => {
      const { line, col: column } = lineCounter.linePos(offset);
      return { path: "", line, column, message, found: undefined, fix };
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
  readonly fix?: string;
}

/** An offset as line and column, for people. */
type Describe = (offset: number) => string;

function readValue(
  document: Document.Parsed,
  text: string,
  describe: Describe,
): { value: unknown; faults: readonly Fault[] } {
  const faults = faultsOf(document, text, describe);
  if (faults.length > 0) return { value: undefined, faults };
  try {
    return { value: document.toJS({ maxAliasCount: mostAliases }), faults };
  } catch (error) {
    const isExplosion = error instanceof ReferenceError;
    const message = isExplosion ? "there are too many aliases (*name)" : explain(error as Error);
    return { value: undefined, faults: [{ message, offset: 0 }] };
  }
}

function faultsOf(document: Document.Parsed, text: string, describe: Describe): Fault[] {
  const faults: Fault[] = [];
  const lineOf = (offset: number) => text.lastIndexOf("\n", offset - 1);
  /** Lines of which the parser does not understand the rest, as after `${`. */
  const lines = new Map<number, number>();
  const isUnclear = ({ offset }: Fault) => offset > (lines.get(lineOf(offset)) ?? text.length);
  let end = text.length;
  for (const error of [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0])) {
    const [offset] = error.pos;
    const mark = explainMarks(text, offset);
    const fault = mark ?? explainLayout(document, text, error, describe) ?? explainPunctuation(text, error);
    if (isUnclear(fault)) continue;
    if (mark !== undefined) lines.set(lineOf(mark.offset), mark.offset);
    faults.push(fault);
    // A warning is about a tag alone; after an error the parser does not understand the rest.
    if (mark === undefined && error.name === "YAMLParseError") {
      end = fault.offset;
      break;
    }
  }
  const traps = findTraps(document, describe).filter((trap) => trap.offset <= end && !isUnclear(trap));
  // YAML 1.1 reads other values from the same text: `no` is false, and `<<` merges.
  const isOther = document.directives.yaml.version !== "1.2";
  return [...faults, ...traps, ...(isOther ? [{ message: "only YAML 1.2 is read here", offset: 0 }] : [])];
}

/** Finds parts that parse, but do not mean what a reader expects; in the order of the text. */
function findTraps(document: Document, describe: Describe): Fault[] {
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
    Value(_, node, holders) {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      const again = isSeq(holders.at(-1))
        ? "keep one of the two, or begin a new item with - here"
        : "keep one of the two";
      if (isMap(node)) faults.push(...checkKeys(node.items, again, describe));
    },
  });
  return faults.sort((a, b) => a.offset - b.offset);
}

/** @param again what to do about a key that is given twice */
function checkKeys(pairs: readonly Pair[], again: string, describe: Describe): Fault[] {
  const faults: Fault[] = [];
  /** Each key, with its offset. */
  const keys = new Map<unknown, number>();
  for (const { key } of pairs) {
    if (!isScalar(key)) continue;
    const offset = key.range?.[0] ?? 0;
    const earlier = keys.get(key.value);
    if (earlier === undefined) keys.set(key.value, offset);
    else {
      const message = `the key ${show(key)} is given twice; it is at ${describe(earlier)} too`;
      faults.push({ message, fix: again, offset });
    }
    if (key.value === "<<" && key.type === "PLAIN") {
      const fix = "write the keys out; a whole mapping or list may be an alias (*name)";
      faults.push({ message: "merge keys (<<) are not read", fix, offset });
    }
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

/** A bracket or quote that is not closed, an item without its dash, or a key at another column than its neighbours. */
function explainLayout(
  document: Document,
  text: string,
  { message, pos: [offset] }: YAMLError,
  describe: Describe,
): Fault | undefined {
  const [, bracket, quote] = /end with a ([}\]])|Missing closing (["'])/.exec(message) ?? [];
  const opening = bracket ? findBracket(document, text, offset) : quote ? findQuote(document, offset) : undefined;
  if (opening !== undefined) {
    const what = `this is not valid YAML: the ${text[opening]} here is not closed before ${describe(offset)}`;
    return { message: what, fix: `close it with ${bracket ?? quote}`, offset: opening };
  }
  if (message.startsWith("A block sequence")) return explainDash(document, text, describe);
  const isNested = message.startsWith("Nested mappings");
  const isBeside = message.startsWith("All mapping items");
  const [before, here] = isBeside ? findNeighbours(document, offset) : isNested ? findDeeper(text, offset) : [];
  if (before === undefined || here === undefined) return undefined;
  const item = explainItem(text, before) ?? explainItem(text, here);
  if (item !== undefined) return item;
  const above = text.lastIndexOf("\n", text.slice(0, here).trimEnd().length - 1) + 1;
  if (isBare(text.slice(above))) return { ...keyWithoutColon, offset: above + text.slice(above).search(/\S/) };
  const what = `this is not valid YAML: the keys at ${describe(before)} and at ${describe(here)} begin at different columns`;
  const fix = "indent the keys of one mapping alike, and those below a key more than that key";
  return { message: what, fix, offset: here };
}

/** A line whose key has no colon and blank before a bracket. */
const withoutBlank = /^( *(?:- +)*)\w[\w.-]*(?: *=| *:(?! ))? *[{[]/;

/** An item without a blank after its -, in the line of an offset. */
function explainItem(text: string, offset: number): Fault | undefined {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  const [, indent] = /^( *(?:- +)*)-(?=[{["'\w])/.exec(text.slice(start)) ?? [];
  const message = "this is not valid YAML: this item has no blank after its -";
  return indent === undefined ? undefined : { message, fix: "put one there", offset: start + indent.length };
}

/** The first item of a list, without its dash, if it has the first key of the next item, which the parser took for a key. */
function explainDash(document: Document, text: string, describe: Describe): Fault | undefined {
  let fault: Fault | undefined;
  const firstKey = (node: unknown) => (isMap(node) && isScalar(node.items[0]?.key) ? node.items[0].key : undefined);
  visit(document, {
    Map(_, map) {
      const index = map.items.findIndex(({ key }) => isSeq(key));
      const list = map.items[index]?.key;
      const next = isSeq(list) ? firstKey(list.items[0]) : undefined;
      const first = [map.items[index - 1]?.value, map].map(firstKey).find((key) => key?.value === next?.value);
      const offset = first?.range?.[0] ?? 0;
      if (!first || !next || /- *$/.test(text.slice(0, offset))) return undefined;
      const message = `this is not valid YAML: this item of a list has no dash, unlike that at ${describe(next.range?.[0] ?? 0)}`;
      fault = { message, fix: "begin it with - at the column of the other dash, and its keys at one column", offset };
      return visit.BREAK;
    },
  });
  return fault;
}

const keyWithoutColon = {
  message: "this is not valid YAML: this key lacks a colon, or the blank after it",
  fix: "write key: value",
};

/** Whether a text's first line has words and no key. */
function isBare(text: string): boolean {
  return /^\s*\w(?:[^:\n]|:(?![\s]))*(?:\n|$)/.test(text.replace(/\s#[^\n]*/, ""));
}

/** A mark that is missing or surplus. No word of the file is shown: it may be a secret. */
function explainPunctuation(text: string, error: YAMLError): Fault {
  const { code, message } = error;
  const [offset] = error.pos;
  const fault = (what: string, fix: string, at = offset): Fault => {
    return { message: `this is not valid YAML: ${what}`, fix, offset: at };
  };
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  const [line = ""] = text.slice(start).split("\n", 1);
  const [mark = ""] = text.slice(offset);
  if (text.startsWith("//", offset)) return fault("a comment begins with #", "write # in place of //");
  if (/[`@%]/.test(mark)) return fault(`no text begins with ${mark}`, "remove it, or put the text in quotes");
  if (message.endsWith("at node end")) {
    return fault("the value ends before this", "remove this, or put the whole value in quotes");
  }
  if (code === "BLOCK_IN_FLOW") {
    const [value] = /^[^,{}[\]]*?(?=\s*;?\s["']?[\w.-]+["']?\s*:(?:\s|$))/.exec(text.slice(offset)) ?? [];
    if (value) return fault("a comma is missing here", "put one comma between the items", offset + value.length);
  }
  const item = explainItem(text, offset);
  if (item !== undefined) return item;
  const [found, indent = ""] = withoutBlank.exec(line) ?? [];
  if (found !== undefined || (code === "MULTILINE_IMPLICIT_KEY" && isBare(line))) {
    return { ...keyWithoutColon, offset: found === undefined ? offset : start + indent.length };
  }
  if (message.startsWith("Unexpected flow-")) {
    return fault(`this ${mark} closes nothing`, "remove it, or write the bracket that it closes");
  }
  if (message.startsWith("Nested mappings")) return fault("this has a colon and no quotes", "put it in quotes");
  return { message: explain(error), offset };
}

const flowToken = /"(?:\\.|[^"\\])*"|(?<=[\s,[{:])'[^']*'|(?<=\s)#[^\n]*|[{}[\]]/gs;

/** The innermost bracket that is open at an offset. */
function findBracket(document: Document, text: string, offset: number): number | undefined {
  let start: number | undefined;
  visit(document, {
    Collection(_, { flow = false, range }) {
      if (!flow || !range || range[0] >= offset) return undefined;
      start = range[0];
      return visit.SKIP;
    },
  });
  if (start === undefined) return undefined;
  const open: number[] = [];
  for (const { 0: token, index } of text.slice(start, offset).matchAll(flowToken)) {
    if (token === "{" || token === "[") open.push(start + index);
    else if (token === "}" || token === "]") open.pop();
  }
  return open.at(-1) ?? start;
}

/** The last text in quotes that begins before an offset. */
function findQuote(document: Document, offset: number): number | undefined {
  let start: number | undefined;
  visit(document, {
    Scalar(_, { type, range }) {
      if (type?.startsWith("QUOTE") && range && range[0] < offset) start = range[0];
    },
  });
  return start;
}

/** The first key after an offset, and the key before it at the side of which it was probably meant to stand. */
function findNeighbours(document: Document, offset: number): readonly number[] {
  let found: readonly number[] = [];
  const startOf = ({ key }: Pair) => (isNode(key) ? key.range?.[0] : undefined) ?? 0;
  visit(document, {
    Map(_, { items }) {
      const index = items.findIndex((pair) => startOf(pair) >= offset);
      const [before, here] = items.slice(index - 1, index + 1);
      if (index < 1 || before === undefined || here === undefined) return;
      // The parser has left a mapping that is indented more than this key.
      const left = isMap(before.value) && before.value.flow !== true ? before.value.items.at(-1) : undefined;
      if (startOf(here) < (found[1] ?? Number.POSITIVE_INFINITY)) found = [startOf(left ?? before), startOf(here)];
    },
  });
  return found;
}

/** A value without a key, and perhaps comments, before a line with a key. */
const valueBeforeKey = /^(?:(?!: )[^\n])*\n(?:\s*#[^\n]*\n)*\s*(?=["']?[\w.-]+["']?:\s)/;

/** The key of the value at an offset, and the key on the next line, which is indented more. */
function findDeeper(text: string, offset: number): readonly number[] {
  const [value] = valueBeforeKey.exec(text.slice(offset)) ?? [];
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return value === undefined ? [] : [start + text.slice(start).search(/[^\s-]/), offset + value.length];
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
  ["a second YAML document", "keep one, and remove the line with ---"],
  ["Tabs are", "indent with blanks"],
  ["Implicit", "put a blank after the colon, and indent the keys of one mapping alike"],
  ["Flow end indicator", "indent the closing bracket more than the key that it belongs to"],
  ["A block sequence", "begin the items of one list at one column"],
  ["Block collections", "put a text with a colon in quotes, and a comma between two items"],
  ["Unresolved tag", "write the YAML without a tag (!name)"],
  ["Sequence item without", "begin each item of a list with -, all at one column"],
  ["All sequence items", "begin the items of one list at one column"],
  ["Missing , ", "put a comma between the items, or close the bracket"],
];

function fixFor(message: string): string {
  return fixes.find(([words]) => message.includes(words))?.[1] ?? "correct the YAML";
}

/** The node at a path, and the offset of its key or list item, or of the nearest parent that exists. */
function follow(document: Document, path: Path): { readonly node: unknown; readonly offset: number | undefined } {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const part of path) {
    const pair = isMap(node) ? pairsOf(node).get(String(part)) : undefined;
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
    pairsKnown.get(map) ?? new Map(map.items.map((pair) => [isScalar(pair.key) ? String(pair.key.value) : pair, pair]));
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
