import { checkStatusLine, longestHeadBytes, longestInterimBytes, statusLineStartBytes } from "./response-rules.ts";
import { MalformedResponse } from "./transport-error.ts";

const interimHead = /^[^\r\n]+\r\n(?:[^\r\n]+\r\n)*\r\n$/;
const endOfHead = "\r\n\r\n";
const carriageReturn = 0x0d;
const lineFeed = 0x0a;

/**
 * Reads each response's head before undici's parser does, because that parser
 *
 * - fails a request on an interim 100 that was not asked for. RFC 9110 section 15.2 wants it ignored; so all interim
 *   responses are taken out here, within a bound;
 * - takes `HTTP/2.0`, `HTTP/0.9`, `RTSP/1.0` and `ICY` for versions of HTTP/1.1;
 * - waits for a body where a 204 or 304 announces a length. Neither has one (RFC 9110 sections 15.3.5 and 15.4.5), so
 *   these header lines are hidden from it.
 *
 * One object serves one connection, which has one request under way at a time.
 */
export class ResponseHeads {
  #isExpected = false;
  /** The beginning of a head whose status is not known yet. */
  #pending: Buffer = Buffer.alloc(0);
  #interimBytes = 0;

  /** A request is being written: the next bytes are a head. */
  expect(): void {
    if (this.#isExpected) return;
    this.#isExpected = true;
    this.#interimBytes = 0;
  }

  /**
   * @returns the bytes for the parser; none while it has to wait
   * @throws MalformedResponse
   */
  take(bytes: Buffer): Buffer {
    if (!this.#isExpected) return bytes;
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    for (;;) {
      this.#skipEmptyLines();
      const status = this.#readStatus();
      if (status === undefined) return empty;
      if (status === 101) throw new MalformedResponse("UPGRADE_NOT_ASKED_FOR");
      if (status >= 200 && !hasNoBody(status)) return this.#release(this.#pending);
      const end = this.#pending.indexOf(endOfHead);
      const length = end === -1 ? this.#pending.length : end + endOfHead.length;
      if (length > longestHeadBytes) throw new MalformedResponse("HEAD_TOO_LONG");
      if (end === -1) return empty;
      const head = this.#pending.toString("latin1", 0, length);
      const rest = this.#pending.subarray(length);
      if (status >= 200) return this.#release(Buffer.concat([Buffer.from(hide(head), "latin1"), rest]));
      if (!interimHead.test(head)) throw new MalformedResponse("INTERIM_RESPONSE_MALFORMED");
      this.#drop(length);
    }
  }

  /** Undefined while the status line is not there as far as its code. */
  #readStatus(): number | undefined {
    const start = this.#pending.toString("latin1", 0, statusLineStartBytes);
    checkStatusLine(start);
    return start.length < statusLineStartBytes ? undefined : Number(start.slice(9, 12));
  }

  /** Most clients, undici among them, accept a service that ends its bodies with one line end too many. */
  #skipEmptyLines(): void {
    const length = this.#pending.findIndex((byte) => byte !== carriageReturn && byte !== lineFeed);
    if (length !== 0) this.#drop(length === -1 ? this.#pending.length : length);
  }

  #drop(length: number): void {
    this.#interimBytes += length;
    if (this.#interimBytes > longestInterimBytes) throw new MalformedResponse("INTERIM_RESPONSES_TOO_LONG");
    this.#pending = this.#pending.subarray(length);
  }

  #release(bytes: Buffer): Buffer {
    this.#isExpected = false;
    this.#pending = empty;
    return bytes;
  }
}

const empty = Buffer.alloc(0);

/** No `Countersign-*` header of the service is passed on, so this name is free. */
const hiddenPrefix = "countersign-hidden-";

function hide(head: string): string {
  return head.replace(/\r\n(?=(?:content-length|transfer-encoding)[ \t]*:)/gi, `\r\n${hiddenPrefix}`);
}

function hasNoBody(status: number): boolean {
  return status === 204 || status === 304;
}
