import type { Clock } from "../../model/clock.ts";
import {
  longestTryList,
  type Note,
  type SharedLimits,
  type SharedPause,
  type SharedTry,
  tryMemoryMs,
} from "../../oauth/shared-limits.ts";

/** How long a site's pause is remembered after its end, so that the next one can be longer. */
const pauseMemoryMs = 900_000;

/** What the sources of one process tell each other about one credential set. */
export class MemorySharedLimits {
  readonly #clock: Clock;
  #login: { readonly pause: SharedPause; readonly atMs: number; readonly untilMs: number } | undefined;
  /** Bounded by the configured sites. */
  readonly #sites = new Map<string, { readonly pauseMs: number; readonly untilMs: number }>();
  #tries: readonly (Omit<SharedTry, "ageMs"> & { readonly atMs: number })[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Nothing is left to tell. */
  isOver(): boolean {
    const nowMs = this.#clock.nowMs();
    const { login, sites, tries } = this.read();
    const isPauseKept = [...this.#sites.values()].some(({ untilMs }) => untilMs + pauseMemoryMs > nowMs);
    return login === undefined && tries.length === 0 && (sites.size === 0 || !isPauseKept);
  }

  read(): SharedLimits {
    const nowMs = this.#clock.nowMs();
    this.#tries = this.#tries.filter(({ atMs }) => atMs > nowMs - tryMemoryMs);
    const login = this.#login !== undefined && this.#login.untilMs > nowMs ? this.#login : undefined;
    return {
      login: login && { ...login.pause, remainingMs: login.untilMs - nowMs, ageMs: nowMs - login.atMs },
      sites: new Map(
        [...this.#sites].map(([site, { pauseMs, untilMs }]) => {
          return [site, { pauseMs, remainingMs: Math.max(0, untilMs - nowMs) }];
        }),
      ),
      tries: this.#tries.map(({ atMs, ...made }) => ({ ...made, ageMs: nowMs - atMs })),
    };
  }

  /** The authorization server has issued a token to a request that began at the moment named. */
  endPause(issuedAtMs: number): void {
    if (this.#login !== undefined && this.#login.atMs <= issuedAtMs) this.#login = undefined;
  }

  note(note: Note): void {
    const nowMs = this.#clock.nowMs();
    switch (note.kind) {
      case "login_paused":
        this.#noteLogin(note.pause);
        return;
      case "tried":
        if (!this.#tries.some((made) => isThat(made, note))) this.#add(note, "open", note.isDoubted);
        return;
      case "accepted":
        this.#tries = this.#tries.map((made) => (isThat(made, note) ? takeAcceptance(made) : made));
        this.#sites.delete(note.site);
        return;
      case "cured":
        this.#add(note, "cured");
        this.#sites.delete(note.site);
        return;
      case "useless":
        // The first replica that says so sets the pause: for one token it does not grow.
        if (this.#tries.some((made) => isFinal(made) && isThat(made, note))) return;
        this.#add(note, "useless");
        if (note.pauseMs > 0) this.#sites.set(note.site, { pauseMs: note.pauseMs, untilMs: nowMs + note.pauseMs });
    }
  }

  /** The longer wait counts. */
  #noteLogin(pause: SharedPause): void {
    const atMs = this.#clock.nowMs();
    const untilMs = atMs + pause.remainingMs;
    if (this.#login === undefined || this.#login.untilMs < untilMs) this.#login = { pause, atMs, untilMs };
  }

  #add({ token, site }: Pick<SharedTry, "token" | "site">, fate: SharedTry["fate"], doubts = false): void {
    const known = this.#tries.find((made) => isThat(made, { token, site }));
    const isAccepted = fate === "cured" || known?.isAccepted === true;
    const isDoubted = doubts || known?.isDoubted === true;
    const others = this.#tries.filter((made) => made !== known);
    this.#tries = [...others, { token, site, fate, isAccepted, isDoubted, atMs: this.#clock.nowMs() }].slice(
      -longestTryList,
    );
  }
}

function takeAcceptance<Made extends Omit<SharedTry, "ageMs">>(made: Made): Made {
  return { ...made, isAccepted: true, fate: made.fate === "open" ? "accepted" : made.fate };
}

function isFinal({ fate }: { fate: SharedTry["fate"] }): boolean {
  return fate === "useless" || fate === "cured";
}

function isThat(made: { token: string; site: string }, other: { token: string; site: string }): boolean {
  return made.token === other.token && made.site === other.site;
}
