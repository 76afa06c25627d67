import type { Clock } from "../model/clock.ts";
import { BodiesUnderWay, type BodyUnderWay } from "./bodies-under-way.ts";
import type { ByteBudget } from "./byte-budget.ts";
import type { Peer } from "./messages.ts";

/** What a request costs beside its body: its objects, two sockets, and an answer that is taken as it comes. */
const perRequestBytes = 32_768;
/** Decoded text has two bytes for each byte of the body at most; the rendered body and its copy in a socket one each. */
const perBodyByte = 4;
/** A name, a value and their place in a map. */
const perParameterBytes = 128;
/** What both sockets and the streams between them hold of an answer that its reader does not take as it comes. */
const perSlowReaderBytes = 393_216;

/** The shortest member of an object, with its comma: `"a":1,`. */
const shortestMemberBytes = 6;
const colon = 0x3a;

/** Opens the accounts of requests. One per process. */
export class RequestMemories {
  readonly #budget: ByteBudget;
  readonly #bodies: BodiesUnderWay;

  constructor(budget: ByteBudget, clock: Clock) {
    this.#budget = budget;
    this.#bodies = new BodiesUnderWay(budget, clock);
  }

  /** Requests whose body is being read. */
  get bodiesUnderWay(): number {
    return this.#bodies.count;
  }

  open(peer: Peer | undefined): RequestMemory {
    return new RequestMemory(this.#budget, this.#bodies, this.#bodies.begin(callerOf(peer)));
  }
}

/** Callers on this machine cannot be told apart. */
function callerOf(peer: Peer | undefined): string {
  const { address = "" } = peer ?? {};
  return /^(?:::ffff:)?127\.|^::1$/.test(address) ? "" : address;
}

/** The memory of one request, as it is charged to the budget. The factors were measured with Node 20 and 24. */
export class RequestMemory {
  /** While the body is being read. */
  readonly body: BodyUnderWay;
  readonly #budget: ByteBudget;
  readonly #bodies: BodiesUnderWay;
  #takenBytes = 0;
  #hasSlowReader = false;
  #isClosed = false;

  constructor(budget: ByteBudget, bodies: BodiesUnderWay, body: BodyUnderWay) {
    this.#budget = budget;
    this.#bodies = bodies;
    this.body = body;
  }

  /**
   * The body is complete, and about to be parsed: charged by the most that it can hold.
   * @throws ProxyError overloaded, body_too_large
   */
  holdBody(body: Uint8Array): void {
    const bytes = costOf(body.length, mostParameters(body));
    this.body.end();
    this.#bodies.makeRoom(bytes);
    this.#budget.take(bytes);
    this.#takenBytes = bytes;
  }

  /** The body is parsed: charged by what it does hold. */
  holdParameters(bodyBytes: number, parameters: number): void {
    const bytes = costOf(bodyBytes, parameters);
    this.#budget.give(this.#takenBytes - bytes);
    this.#takenBytes = bytes;
  }

  /** The caller does not take its answer as it comes. */
  holdAnswer(): void {
    if (this.#hasSlowReader || this.#isClosed) return;
    this.#hasSlowReader = true;
    this.#budget.overdraw(perSlowReaderBytes);
    this.#takenBytes += perSlowReaderBytes;
  }

  close(): void {
    this.#isClosed = true;
    this.body.end();
    this.#budget.give(this.#takenBytes);
    this.#takenBytes = 0;
  }
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
