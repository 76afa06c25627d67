import { type AnyNode, type Node, parse } from "acorn";
import { full } from "acorn-walk";
import { callbacksIn, listening, nameOf, promising } from "./callbacks.ts";
import { isContained } from "./contained.ts";

/** Where something may fail, in the built files. */
export interface Point {
  readonly id: number;
  /**
   * `await`: what is waited for is refused instead. `emitter`: what listeners were put on reports an error. `callback`:
   * a function that others call throws.
   */
  readonly kind: "await" | "emitter" | "callback";
  /** File, line and text, for people. */
  readonly place: string;
  /** Only a defect can make it fail: what is waited for deals with every other failure itself. */
  readonly isGuarded: boolean;
}

/** Takes the next number. */
export type Numbering = (point: Omit<Point, "id">) => number;

/** Text around a piece of the source. */
interface Wrap {
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
}

/**
 * A built file with a question put to `__faults` (runtime.mjs) wherever it waits, hears an emitter, or is called back.
 * Unless a point is armed, nothing runs otherwise than before, not even by a turn of the loop.
 */
export function instrument(source: string, file: string, take: Numbering): string {
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

/** `x.catch(…)` and `x.then(…, …)`: their own `x` is a point too, and meets what is foreseen. */
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
  // At the same place what ends comes before what begins; the inner ends first.
  inserts.sort((a, b) => a.at - b.at || Number(b.isAfter) - Number(a.isAfter) || a.order - b.order);
  let done = 0;
  let text = "";
  for (const { at, text: inserted } of inserts) {
    text += source.slice(done, at) + inserted;
    done = at;
  }
  return text + source.slice(done);
}
