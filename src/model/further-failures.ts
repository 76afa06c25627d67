/** The rows of the failure table (errors.ts) that say why a caller is refused. */
export const callerFailures = {
  caller_not_authenticated: {
    status: 407,
    title: "Caller not authenticated",
    outcomes: ["not_sent"],
    meaning: "The listener asks its callers for a token, and got none that it knows.",
  },
  caller_not_known: {
    status: 403,
    title: "Caller not known",
    outcomes: ["not_sent"],
    meaning:
      "The client certificate is of a known authority, and its names are no caller's of the listener, or several callers'.",
  },
  caller_not_allowed: {
    status: 403,
    title: "Caller not allowed",
    outcomes: ["not_sent"],
    meaning: "The caller is known, and the operation or the site is not in its `operations` or `sites`.",
  },
  caller_rate_limited: {
    status: 429,
    title: "Caller makes too many requests",
    outcomes: ["not_sent"],
    meaning: "The caller makes more than its `requestsPerSecond`. Retry-After says when to come back.",
  },
} as const;

/** The rows of the failure table (errors.ts) that only a request with `Countersign-Once` has. */
export const onceFailures = {
  already_sent: {
    status: 409,
    title: "Already sent",
    outcomes: ["not_sent"],
    meaning:
      "A request with this Countersign-Once was sent before; `first` says what is known of it. The outcome is that of the repetition.",
  },
  once_in_progress: {
    status: 409,
    title: "First request in progress",
    outcomes: ["not_sent"],
    meaning: "A request with this Countersign-Once is being sent now. Retry-After says when to ask again.",
  },
  once_key_reused: {
    status: 422,
    title: "Key of another request",
    outcomes: ["not_sent"],
    meaning: "This Countersign-Once belongs to a request with another operation or other parameters.",
  },
  once_unavailable: {
    status: 503,
    title: "Repetitions cannot be told",
    outcomes: ["not_sent"],
    meaning:
      "Whether a request with this Countersign-Once was sent before cannot be looked up: there is no Redis, or it does not answer.",
  },
} as const;

/** The rows of the failure table (errors.ts) that only a callback has. */
export const callbackFailures = {
  callback_not_genuine: {
    status: 401,
    title: "Callback not genuine",
    outcomes: ["not_sent"],
    meaning: "A callback's signature, time or site is not the service's (spec 6). The log has the reason.",
  },
  callback_replayed: {
    status: 409,
    title: "Callback replayed",
    outcomes: ["not_sent"],
    meaning: "The application has taken a callback with this signature already, and this one has other bytes.",
  },
  callback_in_delivery: {
    status: 503,
    title: "Callback in delivery",
    outcomes: ["not_sent"],
    meaning: "The same callback is being delivered at this moment. Retry-After says when to come back.",
  },
  replay_store_unavailable: {
    status: 503,
    title: "Replays cannot be told",
    outcomes: ["not_sent"],
    meaning:
      "With `replay: strict`, whether a callback was delivered before cannot be looked up. Retry-After says when to come back.",
  },
  application_unreachable: {
    status: 502,
    title: "Application unreachable",
    outcomes: ["not_sent"],
    meaning: "No connection to the application that a callback is for: refused, DNS, or TLS.",
  },
  application_failed: {
    status: 502,
    title: "No answer of the application",
    outcomes: ["unknown"],
    meaning:
      "After bytes of a callback were written, the application's connection broke, or its answer is not HTTP/1.1 or too long.",
  },
  application_timeout: {
    status: 504,
    title: "No answer of the application in time",
    outcomes: ["unknown", "not_sent"],
    meaning: "A callback's `application.timeout` passed: `unknown` if a byte was written, `not_sent` if not.",
  },
} as const;
