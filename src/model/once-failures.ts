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

export const onceResults = [
  "recorded",
  "freed",
  "unrecorded",
  "already_sent",
  "in_progress",
  "key_reused",
  "unavailable",
] as const;
/**
 * What came of a request's Countersign-Once. `recorded`: it was sent, and what became of it is known to all replicas.
 * `freed`: it was not sent, and the key may be used again. `unrecorded`: its end could not be written, so that the key reads
 * as `unknown`. The rest: why it was refused.
 */
export type OnceResult = (typeof onceResults)[number];
