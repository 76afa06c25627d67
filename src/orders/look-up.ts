import type { FoundClaim } from "../claims/claim.ts";
import { type Clock, sleep } from "../model/clock.ts";
import { ProxyError } from "../model/errors.ts";
import { ownPrefix } from "../model/listener.ts";
import { buildAnswer } from "../serving/answer.ts";
import { checkCallerOperation, checkCallerSite } from "../serving/caller-auth.ts";
import type { RequestContext, ServeParts } from "../serving/context.ts";
import { checkGuarantees } from "../serving/guarantees.ts";
import type { CallerRequest, ListenerContext, RequestHandler } from "../serving/messages.ts";
import { checkFraming } from "../serving/request-head.ts";
import { checkOnceKey, readRequestOptions } from "../serving/request-options.ts";
import { admit, serveRequest } from "../serving/serve.ts";
import { chooseSite } from "../serving/site.ts";
import { lookUpPrefix, originPath, parseTarget } from "../serving/target.ts";
import {
  endOf,
  formatTime,
  nameOf,
  type OnceRules,
  openAnswer,
  openNote,
  referenceIn,
  sharedOf,
  withoutRedis,
} from "./once.ts";

interface LookUpParts extends ServeParts {
  readonly once: OnceRules;
}

/** One segment (RFC 3986 section 3.3), and a query. */
const onePath = /^((?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})*)(?:\?(.*))?$/s;
const retryPauseMs = 50;

/**
 * START HERE: one question what is known of a once key, from its head to its answer. Any step may throw. Nothing is sent or
 * claimed, and nothing is written to Redis. It takes no permit, so it keeps no order out.
 */
async function lookUp(context: RequestContext, parts: LookUpParts): Promise<void> {
  const { request, target, listener } = context;
  const { environment } = listener;
  context.setOperation(lookUpPrefix, new Set([lookUpPrefix]));
  const { caller } = admit(context);
  context.setStage("check_head");
  checkMethod(request.method);
  const host = checkFraming(request.headers);
  const { key, asksForAnswer } = readPath(originPath(target, host, listener));
  const options = readRequestOptions(request.headers, parts.requestMs);
  if (options.once !== undefined) throw keyGivenTwice();
  checkGuarantees(request.headers, () => false);
  context.limitDeadline(options.timeoutMs);
  context.setStage("choose_site");
  const { site, scheme } = chooseSite(environment, options, undefined, caller, listener.environments);
  context.setSite(site, scheme.name);
  checkCallerSite(caller, site);
  context.beginWait("look_up_once");
  const { claims, sealing } = sharedOf(parts.once);
  const name = nameOf(key, environment, site);
  const found = await findClaim(() => claims.find({ kind: "once", key: name }), context, parts);
  context.setStage("stream_answer");
  const end = found && endOf(found);
  const kept = asksForAnswer && end !== undefined ? openAnswer(end, name, sealing) : undefined;
  // A repetition gets the answer only with the operation and parameters of the first request.
  if (kept !== undefined) checkCallerOperation(caller, kept.operation);
  const note = end && openNote(end, name, sealing);
  const answer = kept && { headers: pairsOf(kept.headers), body: Buffer.from(kept.body).toString("base64") };
  context.setLookedUp(found?.holder);
  const local = buildAnswer(200, "application/json", { ...describeClaim(found), note, answer }, context.event);
  context.setResponseBytes(local.body.length);
  await request.answer(local, context.deadlineMs);
  context.end(200, "countersign", "not_sent");
}

/** What is known of a key's first request, as the caller reads it. */
function describeClaim(found: FoundClaim | undefined) {
  if (found === undefined) return { state: "not_known" };
  const { holder, note, atMs, untilMs } = found;
  const since = formatTime(atMs);
  const request = { request_id: holder, reference: referenceIn(note) };
  const end = endOf(found);
  if (end === undefined) return { state: "in_progress", since, until: formatTime(untilMs), ...request };
  const { outcome: state, status, why } = end;
  return { state, status, why, since, ...request };
}

/** Asks Redis again while it fails, for `once.wait`. */
async function findClaim(
  find: () => Promise<FoundClaim | undefined>,
  context: Pick<RequestContext, "deadlineMs" | "isShutDown">,
  { clock, once }: { readonly clock: Clock; readonly once: Pick<OnceRules, "redisWaitMs"> },
): Promise<FoundClaim | undefined> {
  const untilMs = Math.min(clock.nowMs() + once.redisWaitMs, context.deadlineMs);
  for (;;) {
    try {
      return await find();
    } catch {
      if (clock.nowMs() >= untilMs || context.isShutDown) throw withoutRedis();
      await sleep(clock, retryPauseMs);
    }
  }
}

function checkMethod(method: string): void {
  if (method === "GET") return;
  throw new ProxyError("method_not_allowed", `Below ${lookUpPrefix} keys are looked up with GET alone.`, {
    headers: ["Allow", "GET"],
  });
}

/** @throws ProxyError target_not_allowed, query_not_allowed, malformed_request */
function readPath(path: string): { readonly key: string; readonly asksForAnswer: boolean } {
  const [, encoded, query] = (path.startsWith(lookUpPrefix) && onePath.exec(path.slice(lookUpPrefix.length))) || [];
  if (encoded === undefined) {
    const what = `Below ${ownPrefix} there is only once/<key>, whose key is one segment: percent-encode the rest of it.`;
    throw new ProxyError("target_not_allowed", what);
  }
  if (query !== undefined && query !== "answer") {
    throw new ProxyError("query_not_allowed", `Below ${lookUpPrefix} the only query is ?answer.`);
  }
  const key = decode(encoded);
  checkOnceKey(key);
  return { key, asksForAnswer: query !== undefined };
}

/** Empty, which is no key, if the escapes are not UTF-8. */
function decode(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return "";
  }
}

function pairsOf(lines: readonly string[]): string[][] {
  return Array.from({ length: lines.length / 2 }, (_, index) => lines.slice(2 * index, 2 * index + 2));
}

function keyGivenTwice(): ProxyError {
  const what = `Below ${lookUpPrefix} the path has the key: leave Countersign-Once out.`;
  return new ProxyError("malformed_request", what, { causedBy: "Countersign-Once" });
}

/**
 * Answers what is known of once keys on one listener.
 * @param main serves all paths that are not Countersign's own
 */
export function createLookUpHandler<Request extends CallerRequest>(
  parts: LookUpParts,
  listener: ListenerContext,
  main: RequestHandler<Request>,
): RequestHandler<Request> {
  return {
    handle(request) {
      if (!request.target.startsWith(ownPrefix)) return main.handle(request);
      return serveRequest(request, parseTarget(request.target), listener, parts, (context) => lookUp(context, parts));
    },
    refuse: main.refuse,
  };
}
