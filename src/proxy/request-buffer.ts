import type { ProxyError } from "../model/errors.ts";
import type { BufferBudget, IncompleteBody } from "./buffer-budget.ts";
import type { BodyBuffer, Peer } from "./messages.ts";

/** What a request costs beside its body: its objects, two sockets, and a response that is read as it comes. */
const perRequestBytes = 32_768;
/** Decoded text has two bytes for each byte of the body at most; the rendered body and its copy in a socket one each. */
const perBodyByte = 4;
/** A name, a value and their entry in a map. */
const perParameterBytes = 128;
/** What both sockets and the streams between them hold of a response that its client does not read as it comes. */
const perSlowReaderBytes = 393_216;

/** The shortest member of an object, with its comma: `"a":1,`. */
const shortestMemberBytes = 6;
const colon = 0x3a;

/** The memory of one request, as it is charged to the budget. The factors were measured with Node 20 and 24. */
export class RequestBuffer implements BodyBuffer, IncompleteBody {
  readonly client: string;
  readonly sinceMs: number;
  onEvicted: (error: ProxyError) => void = () => {};
  readonly #budget: BufferBudget;
  #bytes = 0;
  #hasSlowReader = false;
  #isClosed = false;

  /** @param nowMs on the monotonic clock */
  constructor(budget: BufferBudget, peer: Peer | undefined, nowMs: number) {
    this.client = clientOf(peer);
    this.sinceMs = nowMs;
    this.#budget = budget;
    budget.begin(this);
  }

  /** What is charged. */
  get bytes(): number {
    return this.#bytes;
  }

  reserve(totalBytes: number): void {
    if (totalBytes <= this.#bytes) return;
    this.#budget.extend(this, totalBytes);
    this.#bytes = totalBytes;
  }

  evict(error: ProxyError): void {
    this.#bytes = 0;
    this.onEvicted(error);
  }

  /**
   * The body is complete, and about to be parsed: charged by the most that it can hold.
   * @throws ProxyError overloaded, body_too_large
   */
  chargeBody(body: Uint8Array): void {
    this.#budget.end(this);
    this.#bytes = 0;
    const bytes = costOf(body.length, mostParameters(body));
    this.#budget.take(bytes);
    this.#bytes = bytes;
  }

  /** The body is parsed: charged by what it does hold. */
  chargeParameters(bodyBytes: number, parameters: number): void {
    const bytes = costOf(bodyBytes, parameters);
    this.#budget.give(this.#bytes - bytes);
    this.#bytes = bytes;
  }

  /** The client does not read its response as it comes. */
  chargeSlowReader(): void {
    if (this.#hasSlowReader || this.#isClosed) return;
    this.#hasSlowReader = true;
    this.#budget.overdraw(perSlowReaderBytes);
    this.#bytes += perSlowReaderBytes;
  }

  /** Gives everything back. */
  close(): void {
    this.#isClosed = true;
    if (!this.#budget.end(this)) this.#budget.give(this.#bytes);
    this.#bytes = 0;
  }
}

/** Clients on this machine cannot be told apart. */
function clientOf({ address = "" }: Partial<Peer> = {}): string {
  return /^(?:::ffff:)?127\.|^::1$/.test(address) ? "" : address;
}

function costOf(bodyBytes: number, parameters: number): number {
  return perRequestBytes + perBodyByte * bodyBytes + perParameterBytes * parameters;
}

/** Each has a colon; so may values, but a member has a least length. */
function mostParameters(body: Uint8Array): number {
  let colons = 0;
  for (const byte of body) if (byte === colon) colons += 1;
  return Math.min(colons, Math.ceil(body.length / shortestMemberBytes));
}
