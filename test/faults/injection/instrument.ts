import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type AnyNode,
  type ArrowFunctionExpression,
  type FunctionDeclaration,
  type FunctionExpression,
  type Node,
  parse,
} from "acorn";
import { full } from "acorn-walk";
import { buildSync } from "esbuild";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { isContained } from "./contained.ts";

/** The files that get no failures: commands for people with `doctor`'s adapter, and what only reads a configuration's text. */
const notServing = [
  /^(main|unbundled|bundled\/.*)\.js$/,
  /^cli\/(?!(serve|signals|command)\.js$)/,
  /^config\/(?!(load|files\/watch|rules\/site-folder)\.js$)/,
  /^adapters\/redis\/probe\.js$/,
];

/** The built command with a question at every point. */
export interface Faulty {
  readonly main: string;
  readonly runtime: string;
  readonly points: readonly Point[];
}

/** Copies the build and instruments the copy, which is removed with the test. */
export function buildFaulty(): Faulty {
  const folder = emptyFolder();
  const points: Point[] = [];
  const take = (point: Omit<Point, "id">) => points.push({ id: points.length, ...point }) - 1;
  cpSync("dist", join(folder, "dist"), { recursive: true });
  cpSync("package.json", join(folder, "package.json"));
  cpSync(join(import.meta.dirname, "runtime.mjs"), join(folder, "runtime.mjs"));
  symlinkSync(join(process.cwd(), "node_modules"), join(folder, "node_modules"));
  const names = readdirSync(join(folder, "dist"), { recursive: true, encoding: "utf8" }).sort();
  for (const name of names.filter(isInstrumented)) {
    const file = join(folder, "dist", name);
    writeFileSync(file, instrument(readFileSync(file, "utf8"), name, take));
  }
  return { main: bundle(join(folder, "dist")), runtime: join(folder, "runtime.mjs"), points };
}

/** One file instead of hundreds, since more than a hundred processes start with it. */
function bundle(dist: string): string {
  const outfile = join(dist, "faulty.js");
  const require =
    'import { createRequire as toRequire } from "node:module"; const require = toRequire(import.meta.url);';
  buildSync({
    ...{ entryPoints: [join(dist, "unbundled.js")], outfile, bundle: true, platform: "node", format: "esm" },
    ...{ target: "node20", banner: { js: require }, external: ["supports-color"] },
  });
  return outfile;
}

function isInstrumented(name: string): boolean {
  return name.endsWith(".js") && !notServing.some((part) => part.test(name));
}

/** A place in the built files that may fail. */
export interface Point {
  readonly id: number;
  /**
   * `await`: the awaited promise is rejected. `emitter`: an emitter with listeners reports an error. `callback`: a
   * function that others call throws.
   */
  readonly kind: "await" | "emitter" | "callback";
  /** File, line and text, for people. */
  readonly place: string;
  /** Only a defect can make the point fail: the awaited function handles every other failure itself. */
  readonly isGuarded: boolean;
}

/** Numbers a point. */
type Numbering = (point: Omit<Point, "id">) => number;

/** Text to insert around a piece of the source. */
interface Wrap {
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
}

/**
 * A built file that asks `__faults` (runtime.mjs) at each await, at each listener of an emitter, and in each callback.
 * Unless a point is armed, everything runs as before, in the same turn of the loop.
 */
function instrument(source: string, file: string, take: Numbering): string {
  const tree = parse(source, { ecmaVersion: "latest", sourceType: "module", locations: true, allowHashBang: true });
  const nodes: AnyNode[] = [];
  full(tree, (node) => nodes.push(node as AnyNode));
  const place = ({ start, loc }: Node) => `${file}:${loc?.start.line} ${lineAt(source, start)}`;
  const wraps: Wrap[] = [];
  const wrap = ({ start, end }: Node, before: string, after: string) => wraps.push({ start, end, before, after });
  const isOwn = ({ start, end }: Node) => isContained(file, source.slice(start, end));
  const number = (kind: Point["kind"], node: Node, isGuarded = false) => take({ kind, place: place(node), isGuarded });
  const waits = (node: Node, what: AnyNode) =>
    wrap(what, `(__faults.at(${number("await", node, isGuarded(what) || isOwn(what))}) ? __faults.refused() : (`, "))");

  for (const node of nodes) {
    if (node.type === "AwaitExpression") waits(node, node.argument);
    if (node.type === "ForOfStatement" && node.await) {
      wrap(node.right, `__faults.each(${number("await", node)}, (`, "))");
    }
    if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") continue;
    const { object } = node.callee;
    const method = nameOf(node.callee);
    if (promising.has(method)) waits(node, object);
    const isEmitter = listening.has(method) && node.arguments[0]?.type === "Literal" && !isListening(object);
    if (isEmitter && object.type !== "Super") {
      wrap(object, `__faults.emitter(${number("emitter", node)}, (`, "))");
    }
  }
  for (const called of callbacksIn(nodes)) {
    const { body } = called;
    const enter = `__faults.enter(${number("callback", called)})`;
    if (body.type === "BlockStatement") wrap({ ...body, start: body.start + 1, end: body.start + 1 }, `${enter};`, "");
    else wrap(body, `(${enter}, (`, "))");
  }
  return apply(source, wraps);
}

/** `x.catch(…)` and `x.then(…, …)`: `x` itself is a point too, and gets the foreseen failure. */
function isGuarded(node: AnyNode): boolean {
  if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return false;
  const method = nameOf(node.callee);
  return method === "catch" || (method === "then" && node.arguments.length === 2);
}

/** The last link of a chain: `server.on(…).on(…)` is one emitter. */
function isListening(node: AnyNode): boolean {
  return (
    node.type === "CallExpression" && node.callee.type === "MemberExpression" && listening.has(nameOf(node.callee))
  );
}

function lineAt(source: string, position: number): string {
  const start = source.lastIndexOf("\n", position) + 1;
  return source.slice(start, source.indexOf("\n", position)).trim();
}

function apply(source: string, wraps: readonly Wrap[]): string {
  const outer = [...wraps].sort((a, b) => a.start - b.start || b.end - a.end);
  const inserts = [
    ...outer.map(({ start, before }, order) => ({ at: start, isAfter: false, order, text: before })),
    ...outer.map(({ end, after }, order) => ({ at: end, isAfter: true, order: -order, text: after })),
  ];
  // At the same place ends come before beginnings, and the inner end comes first.
  inserts.sort((a, b) => a.at - b.at || Number(b.isAfter) - Number(a.isAfter) || a.order - b.order);
  let done = 0;
  let text = "";
  for (const { at, text: inserted } of inserts) {
    text += source.slice(done, at) + inserted;
    done = at;
  }
  return text + source.slice(done);
}

/** Methods that take callbacks: of promises, and of emitters. */
const promising = new Set(["then", "catch", "finally"]);
const listening = new Set(["on", "once", "addListener"]);
const calling = new Set([
  ...promising,
  ...listening,
  "after",
  "setImmediate",
  "setTimeout",
  "queueMicrotask",
  "addEventListener",
  "createServer",
  "createTlsServer",
  "Readable",
]);

type FunctionNode = ArrowFunctionExpression | FunctionDeclaration | FunctionExpression;

/** Functions that others call: given to an emitter, a promise or a timer, by name or written in place; and methods `on…`. */
function callbacksIn(nodes: readonly AnyNode[]): Set<FunctionNode> {
  const named = new Map<string, FunctionNode>();
  for (const node of nodes) {
    if (node.type === "VariableDeclarator" && node.id.type === "Identifier" && isFunction(node.init)) {
      named.set(node.id.name, node.init);
    }
    if (node.type === "FunctionDeclaration" && node.id !== null) named.set(node.id.name, node as FunctionDeclaration);
  }
  const found = new Set<FunctionNode>();
  const add = (given: AnyNode | undefined) => {
    if (given?.type === "Identifier") add(named.get(given.name));
    else if (given?.type === "CallExpression" && given.callee.type === "Identifier") add(named.get(given.callee.name));
    else if (given?.type === "ObjectExpression") {
      for (const each of given.properties) if (each.type === "Property") add(each.value);
    } else if (isFunction(given)) found.add(isFunction(given.body) ? given.body : given);
  };
  for (const node of nodes) {
    const isCall = node.type === "CallExpression" || node.type === "NewExpression";
    if (isCall && calling.has(nameOf(node.callee))) for (const given of node.arguments) add(given);
    if (node.type === "MethodDefinition" && /^on[A-Z]/.test(nameOf(node.key))) add(node.value);
  }
  return new Set([...found].filter(({ body }) => !isTrivial(body)));
}

function isFunction(node: AnyNode | null | undefined): node is FunctionNode {
  return (
    node?.type === "ArrowFunctionExpression" ||
    node?.type === "FunctionExpression" ||
    node?.type === "FunctionDeclaration"
  );
}

/** Whether nothing in an expression can fail. */
function isTrivial(node: AnyNode): boolean {
  if (node.type === "BlockStatement") return node.body.length === 0;
  return node.type === "Literal" || node.type === "Identifier";
}

/** The last name in a chain of names. */
function nameOf(node: AnyNode): string {
  if (node.type === "MemberExpression") return nameOf(node.property);
  return node.type === "Identifier" ? node.name : "";
}
