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
