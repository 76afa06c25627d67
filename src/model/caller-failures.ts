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
