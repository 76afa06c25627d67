import type { IncomingHttpHeaders } from "node:http";
import { expect } from "vitest";
import { type FailureCode, failures } from "../src/model/errors.ts";
import { failureType } from "../src/serving/answer.ts";
import { homepage } from "../src/version.ts";

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders | Readonly<Record<string, string>>;
  readonly text: string;
}

export interface ExpectedFailure {
  readonly status: number;
  readonly code: FailureCode;
  readonly outcome?: "not_sent" | "unknown";
  /** A part of the detail that only this answer has. */
  readonly detail?: RegExp;
  /** The methods of a 405. */
  readonly allow?: string;
  /** The caller's Countersign-Reference. */
  readonly reference?: string | undefined;
}

/** Codes whose answers also report the outcome of another request. */
const tellsOfFirst: ReadonlySet<FailureCode> = new Set(["already_sent", "once_in_progress", "once_key_reused"]);

/**
 * Checks an answer against everything that a failure answer promises: RFC 9457 body and headers that agree, Retry-After and
 * Allow present exactly when they must be, a detail that says whether the request may be repeated.
 * @returns the request id
 */
export function expectFailure(answer: Answered, expected: ExpectedFailure): string {
  const { status, code, outcome = "not_sent", detail = /./, reference, allow = "POST" } = expected;
  const { headers } = answer;
  expect({ status: answer.status, code: headers["countersign-error"] }, answer.text).toEqual({ status, code });
  expect(headers["countersign-outcome"]).toBe(outcome);
  expect(headers["content-type"]).toBe("application/problem+json");
  // The line end makes a terminal show its prompt on the next line.
  expect(answer.text.endsWith("}\n")).toBe(true);
  expect(headers["content-length"]).toBe(String(Buffer.byteLength(answer.text)));
  expect(headers["cache-control"]).toBe("no-store");
  expect(headers["countersign-attempts"]).toBeUndefined();
  const id = String(headers["countersign-request-id"]);
  expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  // Without a configured Redis no repetition helps (RFC 9110 section 15.6.4 leaves it out). Also if a refused credential is tried again later (product, section 3).
  const isCuredByWaiting = code !== "once_unavailable" || !answer.text.includes("tokens.cache");
  if (
    (status === 503 && isCuredByWaiting) ||
    status === 429 ||
    code === "credentials_refused" ||
    code === "once_in_progress"
  )
    expect(headers["retry-after"]).toMatch(/^[1-9]\d*$/);
  else expect(headers["retry-after"]).toBeUndefined();
  expect(headers["proxy-authenticate"] === undefined).toBe(status !== 407);
  expect(headers["allow"]).toBe(status === 405 ? allow : undefined);
  const { first, ...body } = JSON.parse(answer.text);
  expect(first !== undefined).toBe(tellsOfFirst.has(code));
  expect(body).toEqual({
    type: failureType(code, undefined, homepage),
    title: failures[code].title,
    status,
    detail: expect.stringMatching(detail),
    code,
    outcome,
    request_id: id,
    ...(reference === undefined ? {} : { reference }),
  });
  const trace = reference === undefined ? `request ${id}` : `reference ${reference}`;
  expectAdvice(body.detail, outcome, trace, first !== undefined);
  return id;
}

function expectAdvice(detail: string, outcome: "not_sent" | "unknown", trace: string, isOfAnother: boolean): void {
  if (outcome === "not_sent") {
    expect(detail).toMatch(isOfAnother ? /\. This request was not sent\.$/ : /\. Nothing was sent\.$/);
  } else {
    expect(detail).not.toContain("Nothing was sent");
    const advice =
      /\. (create_order was sent\. The order may exist|\/files\/ was sent\. The call may have taken effect): look for .* before sending it again\.$/;
    expect(detail).toMatch(advice);
    expect(detail).toContain(`look for ${trace} before`);
  }
}
