/** Why the configuration was read again. */
export type ReloadTrigger = "sighup" | "file_change";

/** Events of the process. */
export type ProcessEvent =
  | {
      readonly kind: "started";
      readonly version: string;
      readonly configHash: string;
      /** Where each listener leads, one line each. */
      readonly routes: readonly string[];
      readonly admin: string;
      readonly status: string;
    }
  | {
      /** A warning that was not there before: at the start each, at a reload what is new. */
      readonly kind: "configuration_warned";
      /** Stable; `acknowledge` takes it. */
      readonly code: string;
      readonly path: string;
      /** What is so, and what to do. */
      readonly message: string;
      /** Further warnings of this code, which get no line; `countersign check` prints them. */
      readonly more?: number | undefined;
    }
  | {
      /** A caller's TLS handshake failed at a listener with mTLS: its certificate or its TLS version was refused. */
      readonly kind: "handshake_failed";
      /** Where it listens, as configured. */
      readonly listener: string;
      /** A code of OpenSSL or Node. */
      readonly reason: string;
      /** The first of its kind for a minute. */
      readonly isFirst: boolean;
    }
  | {
      /** A connection could not be taken; `ENFILE` where the machine can open no more. */
      readonly kind: "accept_failed";
      /** Where it listens, as configured. */
      readonly listener: string;
      /** A code of the system. */
      readonly reason: string;
      /** The first of its kind for a minute. */
      readonly isFirst: boolean;
    }
  | {
      /** Node warned of something in this process. */
      readonly kind: "process_warned";
      /** Its name, its code if it has one, and its stack frames, without the message, which may quote foreign text. */
      readonly warning: string;
    }
  | {
      /** Standard output takes lines again, after its reader stalled or a disk was full. */
      readonly kind: "log_lines_dropped";
      readonly dropped: number;
    }
  | {
      /** Another configuration is active from now on. */
      readonly kind: "config_applied";
      readonly hash: string;
      readonly previousHash: string;
      readonly trigger: ReloadTrigger;
      /** Where each listener leads, one line each. */
      readonly routes: readonly string[];
    }
  | {
      readonly kind: "config_refused";
      /** Of the configuration that stays active. */
      readonly hash: string;
      readonly trigger: ReloadTrigger;
      /** What is wrong with the refused one, for people; no secret in it. */
      readonly problems: readonly string[];
    }
  /** What was read again is the active configuration. */
  | { readonly kind: "config_unchanged"; readonly hash: string }
  | { readonly kind: "draining"; readonly signal: string; readonly inFlight: number }
  | { readonly kind: "stopped"; readonly drained: boolean }
  | {
      /** A defect: something that is not a ProxyError reached the outermost catch. */
      readonly kind: "defect";
      readonly where: string;
      /** Of the request that met it. */
      readonly requestId?: string | undefined;
      /** The error's class and its stack frames without the message, which may quote foreign text. */
      readonly error: string;
    };

/** Events of the spans that tracing exports. */
export type TraceEvent =
  /** The collector has taken spans. */
  | { readonly kind: "spans_exported"; readonly count: number }
  | {
      /** Spans that no collector will have. */
      readonly kind: "spans_lost";
      /** `dropped`: they were not sent, since too many waited, or at the end. `rejected`: the collector refused them. */
      readonly result: "dropped" | "rejected";
      readonly count: number;
      /** `no room`, `the end`, or the collector's status. */
      readonly cause: string;
      /** The first of its kind for a minute. */
      readonly isFirst: boolean;
    }
  | {
      /** The collector took nothing now; the spans are sent again. */
      readonly kind: "spans_delayed";
      /** How many wait. */
      readonly waiting: number;
      /** A code of the connection, or the collector's status. */
      readonly cause: string;
      readonly pauseMs: number;
      /** The first of its kind for a minute. */
      readonly isFirst: boolean;
    };

/** What became of spans. */
export const spanResults = ["exported", "dropped", "rejected"] as const;
