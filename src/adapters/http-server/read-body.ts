import { ChunkDecoder } from "../../http/chunk-decoder.ts";
import { ProxyError } from "../../model/errors.ts";
import type { BodyBuffer } from "../../serving/messages.ts";
import { malformedChunks, type RequestHead } from "./request-reader.ts";

const nothing = Buffer.alloc(0);
/** A piece is kept without a copy if at most this much of its memory holds other bytes. */
const mostWastedBytes = 4_096;

/** A body that the handler does not read yet is kept up to this length; then the connection is not read. */
const mostUnaskedBytes = 65_536;

/** The request handler waits for the whole body. */
interface Reading {
  readonly buffer: BodyBuffer;
  readonly resolve: (body: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The body of one request. It keeps bytes as they come, and returns them whole or piece by piece. `limits.bodyBytes` bounds
 * a whole body, whatever length was declared.
 */
export class RequestBody {
  /** `limits.bodyBytes`. */
  readonly limitBytes: number;
  readonly declaredBytes: number;
  /** All of it has come. */
  isComplete: boolean;
  /** The body was returned to its end, or there is none. */
  isRead: boolean;
  /** How many bytes were taken piece by piece. */
  takenBytes = 0;
  #isAsked = false;
  readonly #chunks: ChunkDecoder | undefined;
  #leftBytes: number;
  readonly #kept: ByteBlock;
  /** No more bytes are kept: the body has failed, or is not wanted. */
  #isDropped = false;
  #failure: unknown;
  #reading: Reading | undefined;
  /** Called at the next piece, if the body is taken piece by piece. */
  #onPiece: (() => void) | undefined;

  constructor({ bodyBytes, isChunked }: Pick<RequestHead, "bodyBytes" | "isChunked">, limitBytes: number) {
    this.limitBytes = limitBytes;
    this.declaredBytes = bodyBytes;
    this.#leftBytes = bodyBytes;
    this.isComplete = bodyBytes === 0 && !isChunked;
    this.isRead = this.isComplete;
    this.#kept = new ByteBlock(isChunked ? limitBytes : bodyBytes);
    this.#chunks = isChunked ? new ChunkDecoder(malformedChunks) : undefined;
  }

  /** No more bytes should be read before the handler asks for the body. */
  get isFull(): boolean {
    return !this.#isAsked && !this.isComplete && this.#kept.length >= mostUnaskedBytes;
  }

  /** Whether the handler waits for the whole body. */
  get isAwaited(): boolean {
    return this.#reading !== undefined;
  }

  /**
   * Takes the bytes that belong to the body.
   * @returns where it stopped: at the end of these bytes or of the body
   * @throws ProxyError malformed_request, headers_too_large, if the chunks are malformed
   */
  read(bytes: Buffer, from: number): number {
    let position: number;
    if (this.#chunks === undefined) {
      position = Math.min(bytes.length, from + this.#leftBytes);
      this.#leftBytes -= position - from;
      if (position > from) this.#keep(bytes, from, position);
      this.isComplete = this.#leftBytes === 0;
    } else {
      position = this.#chunks.read(bytes, from, bytes.length, (start, end) => this.#keep(bytes, start, end));
      this.isComplete = this.#chunks.isComplete;
    }
    if (this.isComplete && this.#reading !== undefined) this.#endReading()?.resolve(this.#giveAway());
    this.#onPiece?.();
    return position;
  }

  /**
   * Returns the whole body, at once if all of it has come.
   * @param buffer reserves memory as the bytes come
   * @throws ProxyError body_too_large, the errors of the buffer, and the error given to `fail`
   */
  collect(buffer: BodyBuffer): Uint8Array | Promise<Uint8Array> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#kept.length > this.limitBytes) throw tooLarge(this.limitBytes);
    buffer.reserve(this.#kept.heldBytes);
    this.#isAsked = true;
    if (this.isComplete) return this.#giveAway();
    return new Promise((resolve, reject) => {
      this.#reading = { buffer, resolve, reject };
      buffer.onEvicted = (error) => this.fail(error);
    });
  }

  /**
   * Takes the bytes that have come, to forward them; only `isFull` limits them. With the last bytes `isRead` becomes true.
   * @returns undefined if no bytes have come since the last call
   * @throws the error given to `fail`
   */
  take(): Uint8Array | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#kept.length === 0 && !this.isComplete) return undefined;
    const piece = this.#giveAway();
    this.isRead = this.isComplete;
    this.takenBytes += piece.length;
    return piece.length > 0 ? piece : undefined;
  }

  /** Resolves when more bytes have come, or when the body is complete or has failed. */
  more(): Promise<void> {
    if (this.isComplete || this.#kept.length > 0 || this.#failure !== undefined) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onPiece = () => {
        this.#onPiece = undefined;
        resolve();
      };
    });
  }

  /** The body will not be complete, or is too long: the rest is dropped. */
  fail(error: unknown): void {
    if (this.isComplete || this.#isDropped) return;
    this.#drop();
    this.#failure = error;
    this.#endReading()?.reject(error);
    this.#onPiece?.();
  }

  /**
   * Drops bytes of an unwanted body.
   * @returns whether no more bytes of the body will come
   */
  skip(bytes: Buffer): boolean {
    this.#drop();
    try {
      this.read(bytes, 0);
    } catch {
      return true;
    }
    return this.isComplete;
  }

  #drop(): void {
    this.#isDropped = true;
    this.#kept.clear();
  }

  #keep(bytes: Buffer, from: number, to: number): void {
    if (this.#isDropped) return;
    this.#kept.add(bytes, from, to);
    if (this.#reading === undefined) return;
    try {
      if (this.#kept.length > this.limitBytes) throw tooLarge(this.limitBytes);
      this.#reading.buffer.reserve(this.#kept.heldBytes);
    } catch (error) {
      this.fail(error);
    }
  }

  #endReading(): Reading | undefined {
    const reading = this.#reading;
    if (reading !== undefined) reading.buffer.onEvicted = () => {};
    this.#reading = undefined;
    return reading;
  }

  #giveAway(): Uint8Array {
    const { bytes } = this.#kept;
    this.#kept.clear();
    this.isRead = true;
    return bytes;
  }
}

/**
 * Bytes that come in pieces and are kept in one block. A Buffer for each piece would take some 200 bytes, so that pieces of
 * one byte would take 200 times their length.
 */
export class ByteBlock {
  readonly #mostBytes: number;
  #block: Buffer = nothing;
  #start = 0;
  #end = 0;
  /** The block may be filled up to here. */
  #room = 0;

  /** @param mostBytes the most bytes expected: no room is kept for more */
  constructor(mostBytes = Number.POSITIVE_INFINITY) {
    this.#mostBytes = mostBytes;
  }

  get length(): number {
    return this.#end - this.#start;
  }

  /** The memory that it takes. */
  get heldBytes(): number {
    return this.#block.buffer.byteLength;
  }

  /** All bytes that are kept. Later additions do not change them. */
  get bytes(): Buffer {
    return this.length === this.#block.length ? this.#block : this.#block.subarray(this.#start, this.#end);
  }

  /** Keeps these bytes, from `from` to `to`. They must not change afterwards. */
  add(bytes: Buffer, from = 0, to = bytes.length): void {
    if (this.length === 0 && bytes.buffer.byteLength - (to - from) <= mostWastedBytes) {
      this.#block = bytes;
      this.#start = from;
      this.#end = to;
      this.#room = to;
      return;
    }
    if (this.#end + (to - from) > this.#room) this.#grow(this.length + (to - from));
    bytes.copy(this.#block, this.#end, from, to);
    this.#end += to - from;
  }

  /** Forgets the first `count` bytes. */
  drop(count: number): void {
    this.#start += count;
    if (this.#start === this.#end) this.clear();
  }

  clear(): void {
    this.#block = nothing;
    this.#start = 0;
    this.#end = 0;
    this.#room = 0;
  }

  #grow(length: number): void {
    const block = Buffer.allocUnsafeSlow(Math.max(length, Math.min(2 * length, this.#mostBytes)));
    this.#block.copy(block, 0, this.#start, this.#end);
    this.#end -= this.#start;
    this.#start = 0;
    this.#block = block;
    this.#room = block.length;
  }
}

/** A request that is served when all earlier requests on its connection have their responses. */
export interface QueuedRequest {
  readonly body: RequestBody;
  /** No request behind it may be served. */
  readonly isLast: boolean;
  /** The caller has said that no request follows. */
  readonly callerCloses: boolean;
  /** Resolves when its response is written, or the caller has closed. It never rejects. */
  serve(): Promise<void>;
}

export function closedEarly(): ProxyError {
  return new ProxyError("malformed_request", "The connection closed before the body was complete.", {
    causedBy: "incomplete body",
  });
}

export function tooLarge(bodyBytes: number): ProxyError {
  return new ProxyError(
    "body_too_large",
    `The body is longer than ${bodyBytes} bytes (limits.bodyBytes). Send less, or raise that limit.`,
    {
      causedBy: "limits.bodyBytes",
    },
  );
}
