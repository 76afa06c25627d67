import { tagsIn } from "./input.ts";
import { type Broken, numberOf, type Oracle, type Played } from "./judge.ts";
import { readAnswers } from "./read-answers.ts";

/** A request as the service received it. */
export interface Upstream {
  /** 1 for the first ever. */
  readonly number: number;
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  /** latin1 */
  readonly body: string;
  /** Why the service did not accept it. */
  readonly refusal: string | undefined;
}

/** What was played at the same time, and what arrived upstream meanwhile. */
export interface Round {
  readonly played: readonly Played[];
  readonly upstream: readonly Upstream[];
  /** Tags of earlier rounds, whose callers may have left before their requests arrived. */
  readonly earlierTags: ReadonlySet<string>;
  /** Callers of the round before left, so a request without a tag may be theirs. */
  readonly wereLeft: boolean;
}

/** A broken promise, and on whose connection where that is known. */
export interface Blamed extends Broken {
  readonly by: Played | undefined;
}

const targets: ReadonlySet<string> = new Set(["/json-api/create_order", "/json-api/get_order"]);

const headerNames: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "accept",
  "content-type",
  "authorization",
  "user-agent",
  "accept-language",
  "traceparent",
  "tracestate",
  "x-request-id",
  "via",
]);

/** What a caller may get wrong and Countersign passes on as it is: it does not know which parameters are booleans. */
const passedOn: ReadonlySet<string> = new Set(["boolean_malformed"]);

/** Requests upstream against answers on the connections: one for one, and each fit to be sent. */
export function judgeRound(round: Round): Blamed[] {
  const { played, upstream } = round;
  const byTag = new Map(played.map((each) => [each.input.tag, each]));
  const byNumber = new Map<number, Played>();
  const blamed: Blamed[] = [];
  for (const each of played) {
    for (const [number, tags] of answersOf(each)) {
      if (byNumber.has(number))
        blamed.push({ oracle: "upstream_repeated", seen: `api_${number} came twice`, by: each });
      byNumber.set(number, each);
      const foreign = tags.find((tag) => tag !== each.input.tag && byTag.has(tag));
      if (foreign) blamed.push({ oracle: "crossed_answer", seen: "the answer to another's request", by: each });
    }
  }
  const arrived = new Set(upstream.map(({ number }) => number));
  for (const [number, by] of byNumber) {
    if (!arrived.has(number)) blamed.push({ oracle: "surplus_answer", seen: `api_${number} is an old one`, by });
  }
  const anyoneLeft = round.wereLeft || played.some((each) => !isWhole(each));
  for (const request of upstream) {
    const tags = tagsIn(request.body);
    const by = byNumber.get(request.number) ?? byTag.get(tags.find((tag) => byTag.has(tag)) ?? "");
    for (const broken of judgeRequest(request)) blamed.push({ ...broken, by });
    if (byNumber.has(request.number)) continue;
    const isExcused = by === undefined ? anyoneLeft || tags.some((tag) => round.earlierTags.has(tag)) : !isWhole(by);
    const oracle: Oracle = by === undefined ? "upstream_unasked" : "upstream_unanswered";
    if (!isExcused) blamed.push({ oracle, seen: `api_${request.number} ${request.target} has no caller`, by });
  }
  return blamed;
}

/** Its caller stayed until it had every answer that it was to get. */
function isWhole({ input, transcript: { end } }: Played): boolean {
  return input.ending === "stay" && (end === "closed" || end === "done");
}

function answersOf({ transcript }: Played): [number: number, tags: readonly string[]][] {
  return readAnswers(transcript.received, true).answers.flatMap((answer) => {
    const number = numberOf(answer);
    return number === undefined ? [] : [[number, tagsIn(answer.body)] as [number, readonly string[]]];
  });
}

/** Sound in itself, whatever the caller's was. */
function judgeRequest({ method, target, rawHeaders, body, refusal }: Upstream): Broken[] {
  const broken: Broken[] = [];
  if (method !== "POST" || !targets.has(target))
    broken.push({ oracle: "upstream_target", seen: `${method} ${target}` });
  if (refusal !== undefined && !passedOn.has(refusal)) broken.push({ oracle: "upstream_refused", seen: refusal });
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  const foreign = names.find((name, index) => !headerNames.has(name) || repeats(names, index));
  if (foreign !== undefined) broken.push({ oracle: "upstream_headers", seen: JSON.stringify(foreign.slice(0, 60)) });
  const length = rawHeaders[names.indexOf("content-length") * 2 + 1];
  if (Number(length) !== body.length)
    broken.push({ oracle: "upstream_headers", seen: "Content-Length is not the body's" });
  return broken;
}

/** Those that Countersign sets come once; what it passes on may be a list. */
function repeats(names: readonly string[], index: number): boolean {
  const single = ["host", "content-length", "content-type", "accept", "authorization", "connection"];
  const name = names[index] ?? "";
  return single.includes(name) && names.indexOf(name) !== index;
}
