import { type Outcome, ProxyError } from "../../model/errors.ts";

/** What an exchange waits for. */
export type Wait = "connection" | "caller" | "service" | "head" | "answer";

/** What was waited for until the deadline. */
export function tooLate(wait: Wait): ProxyError {
  switch (wait) {
    case "connection":
      return timeout("No connection to the service was ready in time.", "no connection", "not_sent");
    case "service":
      return timeout("The service did not take the request's body in time.", "slow service");
    case "head":
      return timeout("No answer came in time.", "no answer");
    case "answer":
      return timeout("The answer stood still for too long.", "incomplete answer");
    case "caller": {
      const what = "The rest of the request's body did not come in time.";
      return new ProxyError("body_incomplete", what, { status: 408, causedBy: "body" });
    }
  }
}

function timeout(what: string, causedBy: string, outcome: Outcome = "unknown"): ProxyError {
  return new ProxyError("upstream_timeout", what, { outcome, causedBy });
}

/** @param error of whatever reads the body */
export function brokenOff(error: unknown): unknown {
  if (!(error instanceof ProxyError)) return error;
  return new ProxyError("body_incomplete", error.message, { causedBy: error.causedBy });
}
