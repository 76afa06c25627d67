/** One final answer as received. */
export interface Answer {
  readonly status: number;
  /** Names in lower case, each once. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface AnswersRead {
  readonly answers: readonly Answer[];
  /** Answers of 1xx. */
  readonly interim: number;
  /** Why the bytes after the answers are not HTTP. */
  readonly fault: string | undefined;
  /** The bytes end within an answer. */
  readonly isCut: boolean;
}

const statusLine = /^HTTP\/1\.1 ([1-5]\d\d) [ -~]*$/;
const headerLine = /^([A-Za-z0-9-]+): ([ -~]*)$/;

/**
 * Every answer on a connection (latin1), strictly: some things that a lenient client accepts are faults here.
 * @param isHeadPossible whether a request was a HEAD, whose answer has a Content-Length but no body
 */
export function readAnswers(bytes: string, isHeadPossible: boolean): AnswersRead {
  const answers: Answer[] = [];
  let interim = 0;
  let at = 0;
  const end = (fault: string | undefined, isCut = false) => ({ answers, interim, fault, isCut });
  while (at < bytes.length) {
    const headEnd = bytes.indexOf("\r\n\r\n", at);
    if (headEnd === -1) return end(isBeginning(bytes.slice(at)) ? undefined : "no status line", true);
    const head = readHead(bytes.slice(at, headEnd));
    if (typeof head === "string") return end(head);
    at = headEnd + 4;
    if (head.status < 200) {
      interim += 1;
      continue;
    }
    const length = lengthOf(head);
    if (length === undefined) return end("no length");
    const follows = bytes.slice(at, at + length);
    const isBodiless = isHeadPossible && (follows === "" || follows.startsWith("HTTP/1.1 "));
    const body = isBodiless ? "" : follows;
    if (!isBodiless && body.length < length) return end(undefined, true);
    answers.push({ ...head, body });
    at += body.length;
  }
  return end(undefined);
}

export function closes({ headers }: Answer): boolean {
  return headers.get("connection")?.toLowerCase() === "close";
}

function isBeginning(text: string): boolean {
  const [first = "", ...lines] = text.split("\r\n");
  return lines.length === 0 ? "HTTP/1.1 ".startsWith(first.slice(0, 9)) : statusLine.test(first);
}

function readHead(text: string): Omit<Answer, "body"> | string {
  const [first = "", ...lines] = text.split("\r\n");
  const status = statusLine.exec(first)?.[1];
  if (status === undefined) return `not a status line: ${JSON.stringify(first.slice(0, 60))}`;
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = headerLine.exec(line) ?? [];
    if (name === undefined || value === undefined) return `not a header line: ${JSON.stringify(line.slice(0, 60))}`;
    if (headers.has(name.toLowerCase())) return `twice: ${name}`;
    headers.set(name.toLowerCase(), value);
  }
  return { status: Number(status), headers };
}

/** All answers here have a Content-Length. */
function lengthOf({ status, headers }: Omit<Answer, "body">): number | undefined {
  if (status === 204 || status === 304) return 0;
  const length = headers.get("content-length") ?? "";
  return /^\d{1,9}$/.test(length) && !headers.has("transfer-encoding") ? Number(length) : undefined;
}
