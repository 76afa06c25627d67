import type { ServerResponse } from "node:http";
import { untilReleased } from "./answer.ts";
import { type Fault, type HostName, readFault } from "./fault.ts";
import { type Counter, createCounter } from "./request-log.ts";

/** A planned fault, and its progress. */
export interface PlannedFault {
  readonly id: number;
  readonly fault: Fault;
  /** Requests that have met it so far. */
  readonly played: number;
  /** Requests that it may still meet. */
  readonly remaining: number | "until_cleared";
  /** Resolves once `count` requests have met the fault. */
  whenPlayed(count: number): Promise<void>;
  /** Meets no more requests; requests that hang continue to hang. */
  clear(): void;
  /** Gives the requests that this fault holds their honest answer. */
  release(): void;
}

/** The plan of misbehaviour: each request meets the first planned fault that fits, and no other. */
export interface Faults {
  /** @throws Error saying what is accepted, when the fault makes no sense */
  add(fault: Fault): PlannedFault;
  /** The faults that may still meet requests, in the order in which they were added. */
  list(): readonly PlannedFault[];
  clear(): void;
  /** Releases everything that hangs. */
  release(): void;
  /** Requests that hang at this moment. */
  readonly hanging: number;
}

/** The sender of a request, as far as known. */
export interface Sender {
  /** The value of `site_identifier`. */
  readonly siteIdentifier: string | undefined;
  /** The S… of that site; at the authorization server, of the site at which the credential set was generated. */
  readonly site: string | undefined;
  readonly clientId: string | undefined;
}

/** The plan as the hosts use it. */
export interface FaultPlan extends Faults {
  /** The fault at the head of the queue, if it strikes before a request is read. */
  takeUnread(host: HostName): PlannedFault | undefined;
  take(host: HostName, sender: Sender): PlannedFault | undefined;
  /** Waits until the fault is released; false if the client goes first. */
  hang(planned: PlannedFault, response: ServerResponse): Promise<boolean>;
}

interface Entry extends PlannedFault {
  readonly meetings: Counter;
}

export function createFaultPlan(): FaultPlan {
  let entries: Entry[] = [];
  const hanging = new Map<() => void, number>();
  let lastId = 0;

  const meet = (entry: Entry | undefined): Entry | undefined => {
    entry?.meetings.add();
    if (entry?.remaining === 0) entry.clear();
    return entry;
  };
  const release = (id?: number) => {
    for (const [wake, owner] of [...hanging]) if (id === undefined || owner === id) wake();
  };
  const plan = (fault: Fault): Entry => {
    lastId += 1;
    const id = lastId;
    const meetings = createCounter();
    return {
      id,
      fault,
      meetings,
      get played() {
        return meetings.count;
      },
      get remaining() {
        return fault.times === "until_cleared" ? fault.times : (fault.times ?? 1) - meetings.count;
      },
      whenPlayed: meetings.whenReached,
      clear() {
        entries = entries.filter((entry) => entry.id !== id);
      },
      release: () => release(id),
    };
  };

  return {
    add(input) {
      const entry = plan({ ...readFault(input) });
      entries.push(entry);
      return entry;
    },
    list: () => entries.slice(),
    clear() {
      entries = [];
    },
    release,
    get hanging() {
      return hanging.size;
    },
    takeUnread(host) {
      const first = entries.find((entry) => entry.fault.host === host);
      return first !== undefined && isUnread(first.fault) ? meet(first) : undefined;
    },
    take: (host, sender) => meet(entries.find(({ fault }) => !isUnread(fault) && isFor(fault, host, sender))),
    hang: (planned, response) => untilReleased(response, planned.id, hanging),
  };
}

function isUnread(fault: Fault): boolean {
  return fault.kind === "reset" && fault.when === "before_reading";
}

function isFor(fault: Fault, host: HostName, sender: Sender): boolean {
  if (fault.host !== host) return false;
  if (fault.site !== undefined && fault.site !== sender.site && fault.site !== sender.siteIdentifier) return false;
  return fault.clientId === undefined || fault.clientId === sender.clientId;
}
