import { tagsIn } from "./input.ts";
import { type Broken, numberOf, type Played } from "./judge.ts";
import { readAnswers } from "./read-answers.ts";

/** A request as the service received it. */
export interface Upstream {
  /** 1 for the first request since the start. */
  readonly number: number;
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  /** latin1 */
  readonly body: string;
  /** Why the service did not accept it. */
  readonly refusal: string | undefined;
}

/** Connections that were played at the same time, and the requests that arrived upstream meanwhile. */
export interface Round {
  readonly played: readonly Played[];
  readonly upstream: readonly Upstream[];
  /** Tags of earlier rounds, whose callers may have left before their requests arrived. */
  readonly earlierTags: ReadonlySet<string>;
  /** Callers of the previous round left, so a request without a tag may be theirs. */
  readonly wereLeft: boolean;
}

const targets: ReadonlySet<string> = new Set(["/json-api/create_order", "/json-api/get_order"]);

/** Headers that Countersign sets come once; headers that it passes on may be a list. */
const single = ["host", "connection", "content-length", "accept", "content-type", "authorization"];
const headerNames = [...single, "user-agent", "accept-language", "traceparent", "tracestate", "x-request-id", "via"];

/** Callers' mistakes that Countersign passes on: it does not know which parameters are booleans. */
const passedOn: ReadonlySet<string> = new Set(["boolean_malformed"]);

/** Compares requests upstream with answers on the connections: one for each, and each request fit to be sent. */
export function judgeRound(round: Round): Broken[] {
  const { played, upstream } = round;
  const byTag = new Map(played.map((each) => [each.input.tag, each]));
  const byNumber = new Map<number, Played>();
  const broken: Broken[] = [];
  for (const each of played) {
    for (const [number, tags] of answersOf(each)) {
      if (byNumber.has(number)) broken.push({ oracle: "upstream_repeated", seen: `api_${number} came twice` });
      byNumber.set(number, each);
      const foreign = tags.find((tag) => tag !== each.input.tag && byTag.has(tag));
      if (foreign) broken.push({ oracle: "crossed_answer", seen: "the answer to another's request" });
    }
  }
  const arrived = new Set(upstream.map(({ number }) => number));
  for (const number of byNumber.keys()) {
    if (!arrived.has(number)) broken.push({ oracle: "surplus_answer", seen: `api_${number} is an old one` });
  }
  const unknown = new Map(played.map((each) => [each, countUnknown(each)]));
  const anyoneLeft = round.wereLeft || played.some((each) => !isWhole(each));
  for (const request of upstream) {
    const tags = tagsIn(request.body);
    const by = byNumber.get(request.number) ?? byTag.get(tags.find((tag) => byTag.has(tag)) ?? "");
    broken.push(...judgeRequest(request));
    if (byNumber.has(request.number)) continue;
    const seen = `api_${request.number} ${request.target} has no caller`;
    if (by === undefined) {
      const isExcused = anyoneLeft || tags.some((tag) => round.earlierTags.has(tag));
      if (!isExcused) broken.push({ oracle: "upstream_unasked", seen });
      continue;
    }
    const left = unknown.get(by) ?? 0;
    unknown.set(by, left - 1);
    if (left <= 0 && isWhole(by)) broken.push({ oracle: "upstream_unanswered", seen });
  }
  return broken;
}

/** Whether the caller stayed until it had all answers that were due. */
function isWhole({ input, transcript: { end } }: Played): boolean {
  return input.ending === "stay" && (end === "closed" || end === "done");
}

/** A caller whose own timeout passed was told `unknown` for a request that arrived. */
function countUnknown({ transcript }: Played): number {
  const { answers } = readAnswers(transcript.received, true);
  return answers.filter(({ headers }) => headers.get("countersign-outcome") === "unknown").length;
}

function answersOf({ transcript }: Played): [number: number, tags: readonly string[]][] {
  return readAnswers(transcript.received, true).answers.flatMap((answer) => {
    const number = numberOf(answer);
    return number === undefined ? [] : [[number, tagsIn(answer.body)] as [number, readonly string[]]];
  });
}

/** A request upstream must be correct, even if the caller's was not. */
function judgeRequest({ method, target, rawHeaders, body, refusal }: Upstream): Broken[] {
  const broken: Broken[] = [];
  if (method !== "POST" || !targets.has(target))
    broken.push({ oracle: "upstream_target", seen: `${method} ${target}` });
  if (refusal !== undefined && !passedOn.has(refusal)) broken.push({ oracle: "upstream_refused", seen: refusal });
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  const foreign = names.find(
    (name, index) => !headerNames.includes(name) || (single.includes(name) && names.indexOf(name) !== index),
  );
  if (foreign !== undefined) broken.push({ oracle: "upstream_headers", seen: JSON.stringify(foreign.slice(0, 60)) });
  const length = rawHeaders[names.indexOf("content-length") * 2 + 1];
  if (Number(length) !== body.length)
    broken.push({ oracle: "upstream_headers", seen: "Content-Length is not the body's" });
  return broken;
}
