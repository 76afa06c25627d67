export interface RequestsRead {
  /** How many requests at the beginning of the connection are complete, and read by all parsers alike. */
  readonly clear: number;
  /** How many bytes follow them, incomplete or odd in any way. Nothing is expected for these bytes. */
  readonly restBytes: number;
}

const methods = /^(POST|GET|PUT|HEAD|DELETE|OPTIONS|PATCH)$/;
const requestLine = /^([A-Z]+) [!-~]+ HTTP\/1\.1$/;
const headerLine = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+): ?([\x20-\x7e]*)$/;
/** Well below the limit of 16 KiB: which bytes count for it is not promised. */
const largestClearHead = 12_000;

/**
 * The clear requests at the beginning of a connection (latin1). Deliberately stricter than any server: a clear request
 * must be answered, any other request may be answered or not.
 */
export function readRequests(bytes: string): RequestsRead {
  let clear = 0;
  let at = 0;
  while (at < bytes.length) {
    const read = readOne(bytes, at);
    if (read === undefined) break;
    clear += 1;
    at = read.end;
    if (read.isLast) break;
  }
  return { clear, restBytes: bytes.length - at };
}

function readOne(bytes: string, start: number): { isLast: boolean; end: number } | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n", start);
  if (headEnd === -1 || headEnd - start > largestClearHead) return undefined;
  const [first = "", ...lines] = bytes.slice(start, headEnd).split("\r\n");
  const method = requestLine.exec(first)?.[1] ?? "";
  if (!methods.test(method)) return undefined;
  const fields: [string, string][] = [];
  for (const line of lines) {
    const [, name, value] = headerLine.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    fields.push([name.toLowerCase(), value.trim().toLowerCase()]);
  }
  const end = endOfBody(bytes, headEnd + 4, fields);
  if (end === undefined) return undefined;
  const isLast = fields.some(([name, value]) => name === "connection" && value.includes("close"));
  return { isLast, end };
}

function endOfBody(bytes: string, start: number, fields: readonly (readonly [string, string])[]): number | undefined {
  const [length, ...moreLengths] = fields.filter(([name]) => name === "content-length");
  const [coding, ...moreCodings] = fields.filter(([name]) => name === "transfer-encoding");
  if (moreLengths.length > 0 || moreCodings.length > 0 || (length && coding)) return undefined;
  if (coding) return coding[1] === "chunked" ? endOfChunks(bytes, start) : undefined;
  if (length === undefined) return start;
  if (!/^\d{1,9}$/.test(length[1])) return undefined;
  const end = start + Number(length[1]);
  return end <= bytes.length ? end : undefined;
}

/** Without extensions and trailers. */
function endOfChunks(bytes: string, start: number): number | undefined {
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    const digits = bytes.slice(at, lineEnd);
    if (lineEnd === -1 || !/^[0-9a-f]{1,7}$/i.test(digits)) return undefined;
    const dataEnd = lineEnd + 2 + Number.parseInt(digits, 16);
    if (bytes.slice(dataEnd, dataEnd + 2) !== "\r\n") return undefined;
    at = dataEnd + 2;
    if (dataEnd === lineEnd + 2) return at;
  }
}
