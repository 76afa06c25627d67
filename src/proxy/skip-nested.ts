import type { JsonCursor } from "./json-cursor.ts";
import { readName, readScalar } from "./json-value.ts";

const deepest = 64;

type Closer = "}" | "]";

/**
 * Reads over the object or array ahead, checking its syntax and keeping nothing. The closers still awaited are the only
 * state, and their number is bounded, so depth costs neither stack nor memory.
 * @throws ProxyError body_not_json, also beyond 64 levels (RFC 8259 section 9 allows a limit)
 */
export function skipNested(json: JsonCursor): void {
  const awaited: Closer[] = [];
  do {
    if (!takeOpening(json, awaited)) readScalar(json);
    else if (!takeClosing(json, awaited)) {
      if (awaited.at(-1) === "}") readName(json);
      continue;
    }
    finishValue(json, awaited);
  } while (awaited.length > 0);
}

function takeOpening(json: JsonCursor, awaited: Closer[]): boolean {
  const closer = json.take("{") ? "}" : json.take("[") ? "]" : undefined;
  if (closer === undefined) return false;
  if (awaited.push(closer) <= deepest) return true;
  throw json.fail(`a value is nested deeper than ${deepest} levels`);
}

function takeClosing(json: JsonCursor, awaited: Closer[]): boolean {
  const closer = awaited.at(-1);
  if (closer === undefined || !json.take(closer)) return false;
  awaited.pop();
  return true;
}

/** Behind a value: closes all that ends here, or reads up to the next value. */
function finishValue(json: JsonCursor, awaited: Closer[]): void {
  while (takeClosing(json, awaited));
  const closer = awaited.at(-1);
  if (closer === undefined) return;
  if (!json.take(",")) throw json.fail(`expected "," or "${closer}"`);
  if (closer === "}") readName(json);
}
