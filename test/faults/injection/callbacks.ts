import type { AnyNode, ArrowFunctionExpression, FunctionDeclaration, FunctionExpression } from "acorn";

/** Methods that take callbacks: of promises, and of emitters. */
export const promising = new Set(["then", "catch", "finally"]);
export const listening = new Set(["on", "once", "addListener"]);
const calling = new Set([
  ...promising,
  ...listening,
  ...["after", "setImmediate", "setTimeout", "queueMicrotask", "addEventListener"],
  ...["createServer", "createTlsServer", "Readable"],
]);

type FunctionNode = ArrowFunctionExpression | FunctionDeclaration | FunctionExpression;

/** Functions that others call: given to an emitter, a promise or a timer, by name or on the spot; and methods `on…`. */
export function callbacksIn(nodes: readonly AnyNode[]): Set<FunctionNode> {
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

/** Nothing in it can fail. */
function isTrivial(node: AnyNode): boolean {
  if (node.type === "BlockStatement") return node.body.length === 0;
  return node.type === "Literal" || node.type === "Identifier";
}

/** The last name in a chain of them. */
export function nameOf(node: AnyNode): string {
  if (node.type === "MemberExpression") return nameOf(node.property);
  return node.type === "Identifier" ? node.name : "";
}
