import { failures } from "../../src/model/errors.ts";
import type { Input } from "./input.ts";
import { type Answer, closes, readAnswers } from "./read-answers.ts";
import { readRequests } from "./read-requests.ts";
import type { Transcript } from "./send.ts";

/** A word in every secret and token: no answer and no log line may contain it. */
export const canary = "canary";

/** A promise, named after its breach. */
export type Oracle =
  | "process_ended"
  | "defect_logged"
  | "log_malformed"
  | "complained"
  | "secret_in_log"
  | "secret_in_answer"
  | "connection_refused"
  | "no_answer"
  | "closed_unanswered"
  | "surplus_answer"
  | "answer_malformed"
  | "answer_cut"
  | "failure_malformed"
  | "server_error"
  | "crossed_answer"
  | "upstream_unanswered"
  | "upstream_unasked"
  | "upstream_repeated"
  | "upstream_malformed"
  | "upstream_refused"
  | "upstream_target"
  | "upstream_headers"
  | "next_request_failed";

/** A broken promise, and the observation. Never a secret. */
export interface Broken {
  readonly oracle: Oracle;
  readonly seen: string;
}

/** A connection and its result. */
export interface Played {
  readonly input: Input;
  readonly transcript: Transcript;
}

/** Judges what the caller itself sees of one connection. */
export function judgeExchange({ input, transcript }: Played): Broken[] {
  const text = input.bytes.toString("latin1");
  const { received, end } = transcript;
  const { clear, restBytes } = readRequests(text);
  const { answers, interim, fault, isCut } = readAnswers(received, /head /i.test(text));
  const last = answers.at(-1);
  const isOwed = answers.length < clear && !(last !== undefined && closes(last));
  const seen = `${end} after ${answers.map(({ status }) => status).join(" ") || "nothing"}, with ${clear} clear requests`;
  const stays = input.ending === "stay";
  const rules: readonly (readonly [boolean, Oracle, string])[] = [
    [end === "refused", "connection_refused", seen],
    [received.includes(canary), "secret_in_answer", seen],
    [fault !== undefined, "answer_malformed", fault ?? ""],
    [isCut && stays && end === "closed", "answer_cut", received.slice(-120)],
    [end === "silent", "no_answer", seen],
    // A caller that sends nothing gets no answer.
    [stays && text !== "" && end === "closed" && (isOwed || answers.length === 0) && !isCut, "closed_unanswered", seen],
    [restBytes === 0 && answers.length > clear, "surplus_answer", seen],
    [restBytes === 0 && interim > clear, "surplus_answer", `${interim} interim answers`],
  ];
  const broken = rules.filter(([isBroken]) => isBroken).map(([, oracle, what]) => ({ oracle, seen: what }));
  return [...broken, ...answers.flatMap((answer) => judgeAnswer(answer, text))];
}

function judgeAnswer(answer: Answer, request: string): Broken[] {
  const { status, headers } = answer;
  const code = headers.get("countersign-error");
  if (code !== undefined) return [...judgeFailure(answer, code), ...judgeServerError(answer, code, request)];
  const isService = headers.get("countersign-outcome") === "answered" && numberOf(answer) !== undefined;
  if (!isService) return [{ oracle: "answer_malformed", seen: `${status} is neither ours nor the service's` }];
  return status >= 500 ? [{ oracle: "server_error", seen: `${status} of the service` }] : [];
}

/** A failure must agree with its row in the table, and its body with its headers. */
function judgeFailure({ status, headers, body }: Answer, code: string): Broken[] {
  const wrong = (seen: string): Broken[] => [{ oracle: "failure_malformed", seen: `${status} ${code}: ${seen}` }];
  if (!Object.hasOwn(failures, code)) return wrong("no such code");
  if (headers.get("content-type") !== "application/problem+json") return wrong("content-type");
  if (headers.get("countersign-request-id") === undefined) return wrong("no request id");
  if (body === "") return [];
  try {
    const problem = JSON.parse(Buffer.from(body, "latin1").toString("utf8"));
    const isSame =
      problem.code === code && problem.status === status && problem.outcome === headers.get("countersign-outcome");
    return isSame ? [] : wrong("body and headers differ");
  } catch {
    return wrong("the body is not JSON");
  }
}

/** Nothing is wrong upstream, so the only 5xx of ours to expect is for a timeout that the caller set itself. */
function judgeServerError({ status }: Answer, code: string, request: string): Broken[] {
  const isForeseen = status < 500 || (code === "upstream_timeout" && /countersign-timeout-ms/i.test(request));
  return isForeseen ? [] : [{ oracle: "server_error", seen: `${status} ${code}` }];
}

/** The number of the request upstream that this answers: the simulator numbers requests. */
export function numberOf({ headers }: Answer): number | undefined {
  const digits = /^api_(\d+)$/.exec(headers.get("x-request-id") ?? "")?.[1];
  return digits === undefined ? undefined : Number(digits);
}
