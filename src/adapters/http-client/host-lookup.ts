import dns, { lookup as getaddrinfo, type LookupAddress, type LookupAllOptions, type LookupOptions } from "node:dns";
import { type Clock, LogThrottle } from "../../model/clock.ts";
import { dnsTimeoutCode } from "../../model/connect-failure.ts";
import type { OldAddressUsed } from "../../model/events.ts";
import { codeOf, TransportError } from "./transport-error.ts";

/** Asks the system, as Node's `dns.lookup` does. */
export type AskSystem = (host: string, options: LookupAllOptions, onAnswer: OnAnswer) => void;

type Addresses = readonly LookupAddress[];
/** The addresses are undefined after an error. */
export type OnAnswer = (error: Error | null, addresses?: Addresses) => void;

/** After this time the last good answer is used. */
const lateMs = 250;
/** The longest wait for the answer to a look-up. The connection that asked is usually gone by then: `timeouts.connect` is shorter. */
const longestWaitMs = 10_000;
/** How old an answer may be that replaces a missing one (RFC 8767 section 5: one to three days). */
const longestUseMs = 86_400_000;
/** The name servers did not answer, or could not (SERVFAIL). */
const noAnswerCode = "EAI_AGAIN";
/** The name does not exist, so its addresses are forgotten. Any other failure keeps them. */
const noSuchNameCode = "ENOTFOUND";

interface Name {
  readonly host: string;
  /** The last good answer, and when it came. */
  good?: { readonly addresses: Addresses; readonly atMs: number } | undefined;
  question?: Question | undefined;
}

interface Question {
  readonly askedAtMs: number;
  readonly waiting: Set<OnAnswer>;
}

/**
 * Looks names up, with one question at a time for each name. libuv gives look-ups half of its threads, and a look-up that
 * hangs cannot be cancelled: so a name whose servers hang takes one thread, however many connections need it. Each connection
 * waits for a new answer: it asks, or shares the question under way. If the answer is late, or no server answers, it gets the
 * last good answer. So names that were found before do not wait behind names that hang.
 */
export class HostLookup {
  readonly #names = new Map<string, Name>();
  readonly #ask: AskSystem;
  readonly #clock: Clock;
  readonly #report: (event: OldAddressUsed) => void;
  readonly #throttle: LogThrottle;

  constructor(ask: AskSystem, clock: Clock, report: (event: OldAddressUsed) => void) {
    this.#ask = ask;
    this.#clock = clock;
    this.#report = report;
    this.#throttle = new LogThrottle(clock);
  }

  /** @param onAnswer is called once, later; its error may have the code DNS_TIMEOUT beside those of `dns.lookup` */
  find(host: string, options: LookupAllOptions, onAnswer: OnAnswer): void {
    const name = this.#nameOf(host, options);
    const question = name.question ?? this.#begin(name, options);
    const nowMs = this.#clock.nowMs();
    const waitMs = this.#isUsable(name) ? question.askedAtMs + lateMs - nowMs : longestWaitMs;
    const cancel = this.#clock.after(waitMs, () => settle(new TransportError(dnsTimeoutCode)));
    const settle: OnAnswer = (error, addresses) => {
      cancel();
      question.waiting.delete(settle);
      const code = error === null ? undefined : codeOf(error);
      const old = code === dnsTimeoutCode || code === noAnswerCode ? this.#useOld(name, code) : undefined;
      if (old === undefined) onAnswer(error, addresses);
      else onAnswer(null, old);
    };
    question.waiting.add(settle);
  }

  #nameOf(host: string, options: LookupAllOptions): Name {
    const key = JSON.stringify([host, options]);
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    for (const [other, name] of this.#names) {
      if (name.question === undefined && !this.#isUsable(name)) this.#names.delete(other);
    }
    const name: Name = { host };
    this.#names.set(key, name);
    return name;
  }

  #begin(name: Name, options: LookupAllOptions): Question {
    const question: Question = { askedAtMs: this.#clock.nowMs(), waiting: new Set() };
    name.question = question;
    this.#ask(name.host, options, (error, addresses) => {
      name.question = undefined;
      if (addresses !== undefined) name.good = { addresses, atMs: this.#clock.nowMs() };
      else if (codeOf(error) === noSuchNameCode) name.good = undefined;
      for (const settle of [...question.waiting]) settle(error, addresses);
    });
    return question;
  }

  #isUsable({ good }: Name): boolean {
    return good !== undefined && this.#clock.nowMs() < good.atMs + longestUseMs;
  }

  #useOld(name: Name, cause: string): Addresses | undefined {
    const { host, good } = name;
    if (good === undefined || !this.#isUsable(name)) return undefined;
    const ageMs = this.#clock.nowMs() - good.atMs;
    this.#report({ kind: "old_address_used", host, cause, ageMs, isFirst: this.#throttle.isFirst(host) });
    return good.addresses;
  }
}

/**
 * Makes every connection of this process look its host up by a HostLookup, also the connections of packages: ioredis has no
 * option for the look-ups of Sentinels. It works because Node reads `dns.lookup` from its module at each look-up.
 */
export function shareLookups(clock: Clock, report: (event: OldAddressUsed) => void): void {
  const lookups = new HostLookup(getaddrinfo as AskSystem, clock, report);
  Object.assign(dns, { lookup: asNodes(lookups) });
}

type NodesCallback = (error: Error | null, found?: Addresses | string, family?: number) => void;

/** A function with the parameters of Node's `dns.lookup`: the options, or only the family, may be left out. */
function asNodes(lookups: HostLookup) {
  return (host: string, ...rest: readonly [LookupOptions | number, NodesCallback] | readonly [NodesCallback]): void => {
    const [given, callback] = rest.length === 1 ? [{}, rest[0]] : rest;
    const options = typeof given === "number" ? { family: given } : given;
    lookups.find(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null || options.all === true) return callback(error, addresses);
      const [first] = addresses ?? [];
      callback(null, first?.address, first?.family);
    });
  };
}
