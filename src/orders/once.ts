import type { Claim, ClaimStore, FoundClaim } from "../claims/claim.ts";
import { endToEndHeaders, type HeaderLines, heldBytesOf, isFramed } from "../http/headers.ts";
import { type Clock, sleep } from "../model/clock.ts";
import type { Environment, Site } from "../model/environment.ts";
import { type Outcome, ProxyError } from "../model/errors.ts";
import { digestOf, type Secret } from "../model/secret.ts";
import type { Parameters } from "../parameters/parameters.ts";
import { compareNames, serialise, sign } from "../parameters/signature.ts";
import type { Admission } from "../serving/concurrency-limit.ts";
import type { RequestContext } from "../serving/context.ts";
import {
  type Answer,
  type AnswerBuffer,
  CallerLeft,
  type CallerRequest,
  type OnceRecord,
  type RequestEnd,
  type Route,
  type UnknownWhy,
  type UpstreamResponse,
} from "../serving/messages.ts";
import type { OnceHeader } from "../serving/request-options.ts";
import { writeValue } from "./enrich.ts";

const retryAfterMs = 1_000;
/** A request ends by its deadline; the claim counts as in progress for this much longer. */
const leaseMarginMs = 1_000;

/** The pause between two checks whether the first request has ended. */
const shortestPauseMs = 50;
const longestPauseMs = 500;

export interface OnceRules {
  /** Undefined without Redis: one process does not know what other processes have sent. */
  readonly shared: SharedOnce | undefined;
  /** `once.header`. */
  readonly header: OnceHeader;
  /** `once.ttl`. */
  readonly lifetimeMs: number;
  /** `once.wait`. */
  readonly redisWaitMs: number;
}

interface SharedOnce {
  readonly claims: ClaimStore;
  readonly digestKeys: DigestKeys;
  readonly sealing: Sealing;
}

/** The keys that encrypt tokens. The first makes a request's digest; a digest in Redis may come from any of them. */
type DigestKeys = readonly [Secret, ...Secret[]];

/** Encrypts a text under a name: only holders of the key can open it, and only under the same name. */
export interface Sealing {
  seal(name: string, plain: Uint8Array): string;
  /** Undefined if the text was not sealed under this name, or its key is no longer configured. */
  open(name: string, sealed: string): Uint8Array | undefined;
}

/** What is recorded of the end of a key's first request. */
interface KeptEnd extends Pick<RequestEnd, "status" | "why"> {
  /** `found`: it was unknown, and a person has found its effect at the service. */
  readonly outcome: RequestEnd["outcome"] | "found";
  /** The answer, if it is kept; of a `found` one what that person noted. */
  readonly sealed?: string | undefined;
}

/** A request that may wait, for Redis or for the first request with its key. */
interface Waiting {
  readonly request: Pick<CallerRequest, "isClosed">;
  readonly admission: Pick<Admission, "acquirePermit" | "releasePermit">;
  /** On the monotonic clock. */
  readonly deadlineMs: number;
  readonly isShutDown: boolean;
}

/**
 * One request's use of the key that its caller gave (Countersign-Once). The key is claimed before the first byte is sent;
 * the outcome is recorded, and the answer kept, before the caller gets the answer.
 */
export class OnceKey implements OnceRecord {
  result: OnceRecord["result"];
  first: string | undefined;
  readonly #claim: Claim;
  /** The request's digest by each of the keys: a repetition of the same request has the same digest. */
  readonly #digests: Digests;
  readonly #operation: string;
  readonly #clock: Clock;
  readonly name: string;
  readonly #sealing: Sealing;
  readonly #redisWaitMs: number;
  #isClaimed = false;
  /** The answer is kept: a failure of its delivery is not recorded. */
  #isKept = false;

  /**
   * @param parameters as the caller gave them, and `prepare` has accepted them: what is sent depends on the configuration too
   * @param deadlineMs on the monotonic clock
   * @throws ProxyError once_unavailable if there is no Redis
   */
  constructor(
    key: string,
    { environment, site, operation }: Pick<Route, "environment" | "site" | "operation">,
    parameters: Parameters,
    rules: OnceRules,
    { event, deadlineMs }: Pick<RequestContext, "event" | "deadlineMs">,
    clock: Clock,
  ) {
    const { lifetimeMs, redisWaitMs } = rules;
    const shared = sharedOf(rules);
    this.#operation = operation;
    this.#clock = clock;
    this.#redisWaitMs = redisWaitMs;
    this.name = nameOf(key, environment, site);
    this.#sealing = shared.sealing;
    this.#digests = digestsOf(`${this.name} ${contentOf(operation, parameters)}`, shared.digestKeys);
    this.#claim = shared.claims.open({
      kind: "once",
      key: this.name,
      holder: event.requestId,
      note: event.reference === undefined ? this.#digests[0] : `${this.#digests[0]}.${event.reference}`,
      leaseMs: Math.max(0, deadlineMs - clock.nowMs()) + leaseMarginMs,
      lifetimeMs,
      // The holder's request may have been sent.
      isTakenOver: false,
    });
  }

  /**
   * Claims the key. Waits while the first request with the key is under way, and for a while if Redis fails. A waiting request
   * has no permit, so that it keeps no other one out.
   * @returns the kept answer of the first request; undefined if this request is to be sent
   * @throws ProxyError already_sent, once_in_progress, once_key_reused, once_unavailable, overloaded, draining; CallerLeft
   */
  async claim(waiting: Waiting): Promise<UpstreamResponse | undefined> {
    const { request, admission, deadlineMs } = waiting;
    const redisUntilMs = Math.min(this.#clock.nowMs() + this.#redisWaitMs, deadlineMs);
    for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      const found = await this.#claim.make().catch(() => undefined);
      if (found?.kind === "claimed") {
        this.first = undefined;
        this.#isClaimed = true;
        admission.acquirePermit();
        return undefined;
      }
      this.first = found?.holder;
      const leftMs = (found === undefined ? redisUntilMs : deadlineMs) - this.#clock.nowMs();
      const isAwaited = found === undefined || (endOf(found) === undefined && isSame(found.note, this.#digests));
      if (leftMs <= 0 || waiting.isShutDown || !isAwaited) return this.#replay(found);
      admission.releasePermit();
      await sleep(this.#clock, Math.min(pauseMs, leftMs));
      if (request.isClosed()) throw new CallerLeft();
    }
  }

  /** @param first the claim of another request; undefined if Redis did not answer */
  #replay(first: FoundClaim | undefined): UpstreamResponse {
    if (first === undefined) throw withoutRedis();
    const end = isSame(first.note, this.#digests) ? endOf(first) : undefined;
    const kept = end && openAnswer(end, this.name, this.#sealing);
    if (kept === undefined) throw this.#refuse(first);
    this.result = "replayed";
    return kept;
  }

  /**
   * Records the service's answer. It is kept if it decides the outcome, is framed, and was short enough to be read whole.
   * A longer one may still break off, so it is recorded when its end has come.
   */
  async recordAnswer(answer: Answer, outcome: Outcome, buffer: AnswerBuffer | undefined): Promise<Answer> {
    if (!this.#isClaimed) return answer;
    const { status, body } = answer;
    const end = { outcome, status, why: "undecided" as const };
    if (!(body instanceof Uint8Array)) return { ...answer, body: this.#recordedAtItsEnd(body, end) };
    let sealed: string | undefined;
    if (outcome === "answered" && answer.isFramed) {
      buffer?.chargeAnswer(body.length + heldBytesOf(answer.headers));
      sealed = this.#sealing.seal(this.name, formatAnswer(answer, body, this.#operation));
    }
    await this.recordEnd({ ...end, sealed });
    this.#isKept = sealed !== undefined;
    return answer;
  }

  /** Passes the body on, its last piece after the end was recorded. */
  async *#recordedAtItsEnd(body: AsyncIterable<Uint8Array>, end: RequestEnd): AsyncGenerator<Uint8Array, void> {
    let last: Uint8Array | undefined;
    for await (const piece of body) {
      if (last !== undefined) yield last;
      last = piece;
    }
    await this.recordEnd(end);
    if (last !== undefined) yield last;
  }

  /** Never fails: an outcome that cannot be written is read as `unknown` later. */
  async recordEnd(end: RequestEnd & Pick<KeptEnd, "sealed">): Promise<void> {
    if (!this.#isClaimed || this.#isKept) return;
    const isFreed = end.outcome === "not_sent";
    const later = end.sealed === undefined ? undefined : formatEnd({ ...end, sealed: undefined });
    const written = isFreed ? this.#claim.release() : this.#claim.settle(formatEnd(end), later);
    this.result = await written.then(
      () => (isFreed ? "freed" : "recorded"),
      () => "unrecorded",
    );
  }

  #refuse(first: FoundClaim): ProxyError {
    const end = endOf(first);
    const at = formatTime(first.atMs);
    const status = end?.status === undefined ? {} : { status: end.status };
    const note = end && openNote(end, this.name, this.#sealing);
    const reference = referenceIn(first.note);
    const members = {
      first: { request_id: first.holder, reference, time: at, outcome: end?.outcome, ...status, note },
    };
    const details = { members, causedBy: "Countersign-Once" };
    const named = `request ${first.holder} of ${at}`;
    if (!isSame(first.note, this.#digests)) {
      const what = `This Countersign-Once belongs to ${named}, whose operation or parameters differ.`;
      return new ProxyError("once_key_reused", `${what} Give each request a key of its own.`, details);
    }
    if (end === undefined) {
      const what = `The first request with this Countersign-Once, ${named}, is still under way.`;
      return new ProxyError("once_in_progress", what, { ...details, retryAfterMs });
    }
    return new ProxyError(
      "already_sent",
      `This Countersign-Once was used by ${named}. ${describeEnd(end, reference)}`,
      details,
    );
  }
}

/** @throws ProxyError once_unavailable if there is no Redis */
export function sharedOf({ shared }: OnceRules): SharedOnce {
  if (shared !== undefined) return shared;
  const fix = "It needs the Redis that replicas share: tokens.cache: redis.";
  throw new ProxyError("once_unavailable", `Countersign-Once cannot be kept here. ${fix}`, {
    causedBy: "tokens.cache",
  });
}

/** Redis did not answer in time, or refuses. */
export function withoutRedis(): ProxyError {
  const what =
    "The Redis that replicas share did not answer in time, or refused: Countersign's log says why (redis_down, redis_failed). " +
    "This request has not used its Countersign-Once, though an earlier one may have: repeat it with the same key.";
  return new ProxyError("once_unavailable", what, { retryAfterMs, causedBy: "Redis" });
}

/** The name of a key's claim. */
export function nameOf(key: string, environment: Pick<Environment, "name">, site: Pick<Site, "identifier">): string {
  return digestOf(JSON.stringify([environment.name, site.identifier, key]));
}

/** Undefined while the request may be under way. `unknown` if the claim's lease ended before an outcome was recorded. */
export function endOf({ kind, isOver, value, isFound }: FoundClaim): KeptEnd | undefined {
  if (kind === "held") return isOver ? { outcome: "unknown", why: "unrecorded" } : undefined;
  const [known = "", status, sealed] = value.split(" ");
  const [outcome, why] = known.split(":");
  return {
    outcome: isFound ? "found" : outcome === "answered" ? "answered" : "unknown",
    status: status === "-" ? undefined : Number(status),
    why: why as UnknownWhy | undefined,
    sealed,
  };
}

/** What a claim keeps of an end: `<outcome>[:<why>] <status or -> [<sealed>]`. */
export function formatEnd({ outcome, status, why, sealed }: KeptEnd): string {
  const known = outcome !== "answered" && why !== undefined ? `unknown:${why}` : outcome;
  return `${known} ${status ?? "-"}${sealed === undefined ? "" : ` ${sealed}`}`;
}

/** The kept answer; undefined if it is not kept, or its key is no longer configured. */
export function openAnswer({ outcome, sealed }: KeptEnd, name: string, sealing: Sealing): KeptAnswer | undefined {
  const kept = sealed === undefined || outcome === "found" ? undefined : sealing.open(name, sealed);
  return kept && parseAnswer(kept);
}

/** What the person who found the effect has noted. */
export function openNote({ outcome, sealed }: KeptEnd, name: string, sealing: Sealing): string | undefined {
  const kept = sealed === undefined || outcome !== "found" ? undefined : sealing.open(name, sealed);
  return kept && Buffer.from(kept).toString("utf8");
}

/** ISO 8601 in UTC. */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}

function describeEnd({ outcome, status }: KeptEnd, reference = "it"): string {
  const answered = status === undefined ? "" : ` with status ${status}`;
  if (outcome === "answered") return `The service answered it${answered}; the answer is not kept.`;
  if (outcome === "found") return "Its effect was looked for and found at the service.";
  return `It was sent, and may have taken effect${status === undefined ? "" : `; it was answered${answered}`}. Look for ${reference}.`;
}

interface KeptAnswer extends UpstreamResponse {
  readonly body: Uint8Array;
  readonly operation: string;
}

/** Status, headers and operation as a line of JSON, then the body unchanged. A Content-Length replaces chunked framing. */
export function formatAnswer(
  { status, headers }: Pick<Answer, "status" | "headers">,
  body: Uint8Array,
  operation: string,
): Buffer {
  const passed = endToEndHeaders(headers);
  if (!isFramed({ status, headers: passed })) passed.push("Content-Length", String(body.length));
  return Buffer.concat([Buffer.from(`${JSON.stringify([status, passed, operation])}\n`), body]);
}

export function parseAnswer(kept: Uint8Array): KeptAnswer {
  const end = kept.indexOf(0x0a);
  const head: [number, HeaderLines, string] = JSON.parse(Buffer.from(kept.subarray(0, end)).toString("utf8"));
  const [status, headers, operation] = head;
  return { status, headers, operation, body: kept.subarray(end + 1), discard() {} };
}

/** Set by the configuration, which may have changed before a repetition, or anew for each attempt. */
const notCompared = new Set(["version", "site_identifier", "timestamp", "signature"]);

/** None, since a change of a site's `decimals` must not make another request of a repetition. */
const noDecimals: ReadonlySet<string> = new Set();

/** The operation and the caller's parameters, sorted by name: a repetition may write them in another order, and 10.5 as "10.50". */
function contentOf(operation: string, parameters: Parameters): string {
  const given = [...parameters.values()].filter(({ name }) => !notCompared.has(name)).sort(compareNames);
  const written = given.map((each) => ({ ...each, value: writeValue(each, noDecimals) }));
  return `${operation} ${serialise(written)}`;
}

/** `<id of the key>.<digest>`, one for each key. */
type Digests = readonly [string, ...string[]];

/** A reader of Redis cannot guess a request from its digests, nor compare the requests of two once keys. */
function digestsOf(content: string, [first, ...others]: DigestKeys): Digests {
  const digest = (key: Secret) => `${idOf(key)}.${sign(`countersign once\n${content}`, key).slice(0, 32)}`;
  return [digest(first), ...others.map(digest)];
}

const keyIds = new WeakMap<Secret, string>();

function idOf(key: Secret): string {
  const id = keyIds.get(key) ?? sign("countersign once", key).slice(0, 8);
  keyIds.set(key, id);
  return id;
}

/** A digest made with a key that is no longer configured cannot be compared: it counts as the same. */
function isSame(note: string, own: Digests): boolean {
  const [id, digest] = note.split(".");
  return own.includes(`${id}.${digest}`) || !own.some((each) => each.split(".")[0] === id);
}

/** The reference follows the digest, if the first request had one. */
export function referenceIn(note: string): string | undefined {
  const [, , ...reference] = note.split(".");
  return reference.length === 0 ? undefined : reference.join(".");
}
