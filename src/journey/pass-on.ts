import type { Outcome } from "../errors.ts";
import { headersDownstream, isFramed } from "./headers.ts";
import type { Answer, HeaderLine, Reply } from "./messages.ts";
import type { Trip } from "./trip.ts";

/** The service's answer as the caller gets it: status and body untouched, our identification added. */
export function passOn(answer: Answer, outcome: Outcome, trip: Trip): Reply {
  const own: HeaderLine[] = [
    ["Countersign-Request-Id", trip.requestId],
    ["Countersign-Outcome", outcome],
  ];
  if (trip.attempts > 1) own.push(["Countersign-Attempts", String(trip.attempts)]);
  return {
    status: answer.status,
    headers: [...headersDownstream(answer.headers), ...own],
    body: trip.timed(answer.body),
    isFramed: isFramed(answer),
    onSlowReader: () => trip.memory?.holdAnswer(),
  };
}
