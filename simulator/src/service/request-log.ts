import type { Delivery } from "./answer.ts";
import type { FaultKind } from "./fault.ts";
import type { Refusal } from "./refusals.ts";

/** The record of a request to either host. */
interface LoggedRequest {
  /** 1 for the first. */
  readonly number: number;
  readonly receivedAtMs: number;
  readonly rawHeaders: readonly string[];
  /** The fault that it met. */
  readonly fault: FaultKind | undefined;
  /** Undefined until the answer is sent, or can no longer be sent. */
  readonly answer: Delivery | undefined;
}

/** A request to the JSON API that arrived completely, whatever was answered. */
export interface ApiRequest extends LoggedRequest {
  readonly method: string;
  readonly target: string;
  readonly body: Buffer;
  /** The method of authentication by which it was judged (spec 5.1). */
  readonly auth: "oauth" | "hmac";
  /** The S… that its `site_identifier` means. */
  readonly site: string | undefined;
  /** The bearer token that it carried. */
  readonly token: string | undefined;
  /** Why it was not accepted; undefined for a call that passed every check. */
  readonly refusal: Refusal | undefined;
  /** Present when the order was created, even if the answer was cut. */
  readonly orderId: string | undefined;
}

/** A request to the authorization server that arrived completely. Its body holds the secret, so it is not kept. */
export interface TokenRequest extends LoggedRequest {
  readonly method: string;
  readonly target: string;
  readonly contentType: string | undefined;
  readonly clientId: string | undefined;
  /** Why no token was issued, e.g. `secret_wrong`. */
  readonly refusal: string | undefined;
  /** The token that was issued, even if the answer was cut. */
  readonly token: string | undefined;
}

/** Everything recorded: the last 10,000 requests of each host, oldest first, and ways to wait for the next. */
export interface RequestLog {
  readonly apiRequests: readonly ApiRequest[];
  readonly tokenRequests: readonly TokenRequest[];
  /** Resolves when that many requests to the JSON API have arrived completely, answered or not. */
  whenApiRequests(count: number): Promise<readonly ApiRequest[]>;
  whenTokenRequests(count: number): Promise<readonly TokenRequest[]>;
  /** Resolves when that many requests have their answer, or will never have one. */
  whenApiAnswers(count: number): Promise<readonly ApiRequest[]>;
  whenTokenAnswers(count: number): Promise<readonly TokenRequest[]>;
}

/** A host's log: first the request, later how its answer was sent. */
export interface HostLog<T extends LoggedRequest> {
  readonly arrived: number;
  list(): readonly T[];
  add(request: Omit<T, "number" | "answer">): T;
  recordAnswer(request: T, answer: Delivery): void;
  whenArrived(count: number): Promise<readonly T[]>;
  whenAnswered(count: number): Promise<readonly T[]>;
}

/** Beyond this the oldest requests are forgotten, but still counted. */
const rememberedRequests = 10_000;

export function createHostLog<T extends LoggedRequest>(): HostLog<T> {
  let requests: T[] = [];
  const list = () => requests.slice(-rememberedRequests);
  const arrived = createCounter();
  const answered = createCounter();
  return {
    get arrived() {
      return arrived.count;
    },
    list,
    add(request) {
      const record = { ...request, number: arrived.count + 1, answer: undefined } as unknown as T;
      requests.push(record);
      // Cutting only at twice the limit keeps the average cost of a request constant.
      if (requests.length >= rememberedRequests * 2) requests = list();
      arrived.add();
      return record;
    },
    recordAnswer(request, answer) {
      (request as { answer: Delivery }).answer = answer;
      answered.add();
    },
    whenArrived: (count) => arrived.whenReached(count).then(list),
    whenAnswered: (count) => answered.whenReached(count).then(list),
  };
}

/** The public view of the two logs. */
export function createRequestLog(api: HostLog<ApiRequest>, login: HostLog<TokenRequest>): RequestLog {
  return {
    get apiRequests() {
      return api.list();
    },
    get tokenRequests() {
      return login.list();
    },
    whenApiRequests: api.whenArrived,
    whenTokenRequests: login.whenArrived,
    whenApiAnswers: api.whenAnswered,
    whenTokenAnswers: login.whenAnswered,
  };
}

/** A count that can be awaited, so that a test need not poll. */
export interface Counter {
  readonly count: number;
  add(): void;
  /** Resolves as soon as the count is at least this. */
  whenReached(count: number): Promise<void>;
}

export function createCounter(): Counter {
  let count = 0;
  let waiting: { readonly wanted: number; readonly wake: () => void }[] = [];
  return {
    get count() {
      return count;
    },
    add() {
      count += 1;
      if (waiting.length === 0) return;
      const reached = waiting.filter((waiter) => waiter.wanted <= count);
      waiting = waiting.filter((waiter) => waiter.wanted > count);
      for (const waiter of reached) waiter.wake();
    },
    whenReached(wanted) {
      if (wanted <= count) return Promise.resolve();
      return new Promise((wake) => waiting.push({ wanted, wake }));
    },
  };
}
