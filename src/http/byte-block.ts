const nothing = Buffer.alloc(0);
/** A piece is kept as it came where no more than this of its memory is something else. */
const mostWastedBytes = 4_096;

/**
 * Bytes that come in pieces and are kept in one block. A Buffer for each piece would take some 200 bytes, so that pieces of
 * one byte would take 200 times their length.
 */
export class ByteBlock {
  readonly #mostBytes: number;
  #block: Buffer = nothing;
  #start = 0;
  #end = 0;
  /** Up to here the block is ours to fill. */
  #room = 0;

  /** @param mostBytes beyond which nothing is expected: no room is kept for more */
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

  /** All that is kept. It stays as it is, whatever is added. */
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

  /** Forgets the first ones. */
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
